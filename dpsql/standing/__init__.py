"""Questions that stand while a table grows: each period of it is measured once, and paid once a term."""
