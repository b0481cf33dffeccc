// Who comes by a link from another site seems logged out: browsers leave strict cookies out of such a visit. Coming from here
// they do not.

location.replace(`${location.pathname}?here${location.hash}`);
