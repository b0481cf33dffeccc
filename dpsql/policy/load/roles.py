"""Budgets, roles and users: who may spend how much of what is protected."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.policy.config import User
from dpsql.policy.disclosure import EXCHANGE, MEMBERSHIP_RISK, largest_epsilon
from dpsql.policy.load.document import Document, Mistakes, Path, dotted_path, suggestion
from dpsql.policy.load.scalars import identifier
from dpsql.policy.load.shapes import AmountShape, BudgetShape, ConfigShape, RoleShape, UserShape
from dpsql.policy.load.tables import Schemas, canonical_name
from dpsql.policy.model import (
    CHOOSING,
    Accounting,
    DatasetBudget,
    Period,
    Privacy,
    Role,
    RoleBudget,
    RoleLimits,
    RowCondition,
    TableName,
    periods_touched,
)

# A role's rights to a part of a table: some of its columns, and the rows for which a condition holds.


def granted_tables(shape: RoleShape, schemas: Schemas) -> frozenset[str] | None:
    """Return the tables and views that a role may use, those of whole schemas by their names; None: all."""
    if shape.tables is None:
        return None
    named = (
        tables_of_schema(name, shape.protects, schemas) if name.endswith(".*") else (name,) for name in shape.tables
    )
    return frozenset(name for names in named for name in names)


def tables_of_schema(pattern: str, protects: str | None, schemas: Schemas) -> tuple[str, ...]:
    """Return the tables with the unit that a role protects, and the views, that `clinical.*` stands for."""
    tables = [name for name in schemas.protected if protects in schemas.kinds[name]]
    schema = pattern.removesuffix(".*")
    return tuple(name for name in (*tables, *schemas.views) if TableName.of(name).schema == schema)


@dataclass(frozen=True, slots=True)
class Rights:
    """The configuration of one role, while it is checked against the tables."""

    shape: RoleShape
    path: Path
    document: Document
    schemas: Schemas
    mistakes: Mistakes

    def columns(self) -> dict[str, frozenset[str]]:
        """Check and return which columns of a table the role may name."""
        given: dict[str, frozenset[str]] = {}
        for written, columns in (self.shape.columns or {}).items():
            place, name = (*self.path, "columns", written), self._named(written, given, (*self.path, "columns"))
            given[name] = frozenset(columns)
            if not columns:
                self._wrong(place, "lists no column; take the table out of those that the role may use")
            if self._is_in_part(name, place):
                self._check_columns(name, columns, place)
        return given

    def _check_columns(self, name: str, columns: list[str], place: Path) -> None:
        allowed = self.schemas.tables[name].columns
        for at, column in enumerate(columns):
            if column not in allowed:
                self._wrong((*place, at), f'is "{column}", which is no column of "{name}"{suggestion(column, allowed)}')

    def conditions(self) -> dict[str, RowCondition]:
        """Check and return the conditions on the role's rows; their meaning is read once there is a shadow."""
        row_conditions: dict[str, RowCondition] = {}
        for written, text in (self.shape.where or {}).items():
            place, name = (*self.path, "where", written), self._named(written, row_conditions, (*self.path, "where"))
            if self._is_in_part(name, place) and not text.strip():
                self._wrong(place, "is no condition; write one over the table's columns, in SQL")
            row_conditions[name] = RowCondition(
                text, f"{self.document.file}:{self.document.line(place)}: {dotted_path(place)}"
            )
        return row_conditions

    def _named(self, written: str, before: Collection[str], place: Path) -> str:
        """Return the name by which a table is kept; note it if it was given before, by its other name."""
        name = canonical_name(written)
        if name in before:
            self._wrong((*place, written), f'is the same table as "{name}", which stands beside it')
        return name

    def _is_in_part(self, name: str, place: Path) -> bool:
        """Return whether the role may be told of a table in part; note it if there is no such table."""
        schemas, table = self.schemas, self.schemas.tables.get(name)
        usable = granted_tables(self.shape, schemas)
        if name in schemas.views:
            self._wrong(place, "is for a view, whose query says which rows and columns it has")
        elif table is None:
            if schemas.complete:
                self._wrong(place, f"is for no declared table{suggestion(name, schemas.protected)}")
        elif table.public:
            self._wrong(place, "is for a public table, whose rows everybody may see")
        # Views count, since one may read the table: the rights to its columns and rows hold in there, too.
        elif usable is not None and not {name, *schemas.views} & set(usable):
            self._wrong(
                place,
                f"is for a table that the role may not use; it may use {', '.join(self.shape.tables or ()) or 'none'}",
            )
        else:
            return True
        return False

    def _wrong(self, place: Path, text: str) -> None:
        self.mistakes.add(self.document, place, text)


# From an acceptable disclosure risk to ε, by a rule that does not look at the data.


def epsilon_for(risk: Fraction, population: int, membership: Fraction = MEMBERSHIP_RISK) -> Fraction:
    """Return the largest ε of four decimals under which both risks hold, for neighbours by adding or removing a unit.

    Of n possible people one is named after ε with a probability of at most 1/(1 + (n−1)·exp(−2ε)) (Lee & Clifton 2011, upper
    bound with Δv = 2Δf), and a 50/50 guess of membership is right with at most 1/(1 + exp(−ε)).

    Raises:
        ValueError: if the risk is that of a guess or lower, so that no ε will do.
    """
    if population < 2 or risk * population <= 1:
        raise ValueError(f"must be above 1/population = 1/{population}, the chance of a blind guess")
    if membership <= Fraction(1, 2):
        raise ValueError("must be above 0.5, the chance of a blind guess")
    naming = largest_epsilon(Fraction(1, population), risk, EXCHANGE)
    epsilon = min(naming, largest_epsilon(Fraction(1, 2), membership, 1))
    if epsilon <= 0:
        raise ValueError("is so small that no ε of four decimals satisfies it")
    return epsilon


# Roles, users and budgets.


@dataclass(frozen=True, slots=True)
class Access:
    """The part of a configuration that says who may spend how much, while it is checked against the tables."""

    document: Document
    shape: ConfigShape
    schemas: Schemas
    mistakes: Mistakes

    @property
    def kinds(self) -> frozenset[str]:
        """Return the unit kinds that the tables declare."""
        return frozenset().union(*self.schemas.kinds.values())

    def wrong(self, path: Path, text: str) -> None:
        """Note a mistake in the configuration."""
        self.mistakes.add(self.document, path, text)

    def check_name(self, path: Path) -> None:
        """Note a key that can't be a name."""
        try:
            identifier(str(path[-1]))
        except ValueError as failure:
            self.wrong(path, str(failure))


def budgets_of(access: Access) -> dict[str, DatasetBudget]:
    """Check the data set's own budgets, per unit kind."""
    budgets: dict[str, DatasetBudget] = {}
    for kind, shape in (access.shape.budget or {}).items():
        if access.schemas.complete and kind not in access.kinds:
            access.wrong(("budget", kind), f"is no unit kind of any table{suggestion(kind, access.kinds)}")
        amount = _amount(shape, ("budget", kind), access)
        if amount is not None:
            _check_accounting(shape, ("budget", kind), amount, access)
            budgets[kind] = DatasetBudget(amount, shape.window, shape.profile)
            if shape.profile is not None and shape.profile > amount.epsilon:
                access.wrong(
                    ("budget", kind, "profile"), f"is above all that the budget has, ε = {float(amount.epsilon):g}"
                )
    return budgets


def read_roles(access: Access, budgets: Mapping[str, DatasetBudget]) -> dict[str, Role]:
    """Check the roles."""
    # A role that lacks something is left out; that it does was noted, so that nobody gets a policy without it.
    built = (_role(name, shape, access, budgets) for name, shape in (access.shape.roles or {}).items())
    return {role.name: role for role in built if role is not None}


def with_zcdp_deltas(
    budgets: Mapping[str, DatasetBudget], roles: Mapping[str, Role], access: Access
) -> dict[str, DatasetBudget]:
    """Return the data set's budgets with what part of δ each turns ρ into ε at, where charges add up by zCDP."""
    shapes = access.shape.budget or {}
    own = {role.protects for role in roles.values() if role.per_query.delta}
    return {
        kind: replace(budget, concentrated=_part(shapes[kind].accounting, budget.total, own=kind in own))
        for kind, budget in budgets.items()
    }


def _part(accounting: Accounting, total: Privacy, *, own: bool) -> Fraction | None:
    """Return the part of δ for zCDP: all of it, but half where charges have a δ of their own."""
    if accounting is Accounting.SUM or not total.delta:
        return None
    return total.delta / 2 if own else total.delta


def _check_accounting(shape: AmountShape, path: Path, total: Privacy, access: Access) -> None:
    if shape.accounting is Accounting.ZCDP and not total.delta:
        access.wrong((*path, "accounting"), "is zcdp, which needs a delta: what ρ comes to in ε is said at a δ")


def users_of(access: Access) -> dict[str, User]:
    """Check the users."""
    users: dict[str, User] = {}
    allowed = list(access.shape.roles or {})
    for name, shape in access.shape.users.items():
        access.check_name(("users", name))
        if shape.role is not None and not access.document.has(("roles", shape.role)):
            access.wrong(
                ("users", name, "role"), f'is "{shape.role}", which is no role{suggestion(shape.role, allowed)}'
            )
        _check_password(name, shape, access)
        if shape.role is not None and (shape.ldap or shape.password is not None) and not shape.disabled:
            users[name] = User(name, shape.role, "" if shape.ldap else shape.password or "")
    return users


def _check_password(name: str, shape: UserShape, access: Access) -> None:
    """A user's password is known by its verifier, or by the directory."""
    path, document = ("users", name), access.document
    if shape.ldap and shape.password is not None:
        access.wrong((*path, "ldap"), "can't be given together with password, which the directory knows then")
    elif shape.ldap and not document.has(("ldap",)):
        access.wrong((*path, "ldap"), "needs a directory; add ldap: {url: …, user_dn: …}")
    elif not shape.ldap and not document.has((*path, "password")) and document.has(path):
        access.wrong(path, 'lacks the key "password" (or "ldap: true")')


def with_user_shares(roles: Mapping[str, Role], access: Access) -> dict[str, Role]:
    """Return the roles with what single users may spend of their budgets."""
    of: dict[str, dict[str, Fraction]] = {name: {} for name in roles}
    for name, shape in access.shape.users.items():
        if shape.epsilon is not None and shape.role is not None and shape.role in roles:
            of[shape.role][name] = shape.epsilon
    return {name: replace(role, shares=of[name]) for name, role in roles.items()}


def _role(name: str, shape: RoleShape, access: Access, budgets: Mapping[str, DatasetBudget]) -> Role | None:
    """Check one role."""
    path = ("roles", name)
    access.check_name(path)
    _check_protects(shape, path, access)
    _check_tables(shape, path, access)
    rights = Rights(shape, path, access.document, access.schemas, access.mistakes)
    total = None if shape.budget is None else _share_of_period(shape.budget, (*path, "budget"), access)
    if shape.budget is not None and total is not None:
        _check_accounting(shape.budget, (*path, "budget"), total, access)
    each = _per_query(shape, path, total, access)
    whole = budgets.get(shape.protects or "")
    if total is not None and whole is not None and _exceeds(total, whole.total):
        pairs = ("ε", total.epsilon, whole.total.epsilon), ("δ", total.delta, whole.total.delta)
        over = ", ".join(f"{name} = {float(own):g} of {float(most):g}" for name, own, most in pairs if own > most)
        access.wrong((*path, "budget"), f'is above the data set\'s own budget for "{shape.protects}": {over}')
    if shape.budget is None or shape.protects is None or total is None or each is None:
        return None
    return Role(
        name=name,
        protects=shape.protects,
        budget=RoleBudget(
            total,
            shape.budget.period or Period.NEVER,
            _part(shape.budget.accounting, total, own=bool(each.delta)),
        ),
        per_query=each,
        tables=granted_tables(shape, access.schemas),
        clamp=shape.clamp,
        empty_groups=shape.empty_groups,
        reuse=shape.reuse,
        preview=shape.preview,
        mechanism=shape.mechanism,
        max_groups=shape.max_groups,
        min_units=shape.min_units,
        noise=None if shape.per_query is None else shape.per_query.noise,
        owner=shape.owner,
        least=None if shape.per_query is None else shape.per_query.least,
        limits=RoleLimits(shape.limits.runs, shape.limits.failures),
        columns=rights.columns(),
        where=rights.conditions(),
    )


def _exceeds(amount: Privacy, other: Privacy) -> bool:
    return amount.epsilon > other.epsilon or amount.delta > other.delta


def _check_protects(shape: RoleShape, path: Path, access: Access) -> None:
    """A role protects a kind that tables declare and that has a budget."""
    kind = shape.protects
    if kind is None:
        return
    if access.schemas.complete and kind not in access.kinds:
        access.wrong(
            (*path, "protects"), f'is "{kind}", which is no unit kind of any table{suggestion(kind, access.kinds)}'
        )
    elif access.document.has(("budget",)) and not access.document.has(("budget", kind)):
        access.wrong((*path, "protects"), f'is "{kind}", for which the data set has no budget; add budget.{kind}')


def _check_tables(shape: RoleShape, path: Path, access: Access) -> None:
    """A role is granted views, and tables that are declared, protected, and have the unit that it protects."""
    for at, name in enumerate(shape.tables or ()):
        place = (*path, "tables", at)
        if name.endswith(".*"):
            if access.schemas.complete and not tables_of_schema(name, shape.protects, access.schemas):
                schemas = {TableName.of(each).schema for each in (*access.schemas.protected, *access.schemas.views)}
                allowed = sorted(f"{schema}.*" for schema in schemas)
                access.wrong(place, f'is "{name}", where nothing is that the role could use{suggestion(name, allowed)}')
            continue
        table = access.schemas.tables.get(name)
        if table is None:
            if access.schemas.complete and name not in access.schemas.views:
                allowed = [*access.schemas.protected, *access.schemas.views]
                access.wrong(place, f'is "{name}", which is no declared table{suggestion(name, allowed)}')
        elif table.public:
            access.wrong(place, f'is "{name}", a public table, which everybody may use')
        elif shape.protects in access.kinds and shape.protects not in access.schemas.kinds[name]:
            access.wrong(place, f'is "{name}", which has no unit "{shape.protects}"')


def _per_query(shape: RoleShape, path: Path, total: Privacy | None, access: Access) -> Privacy | None:
    """Check what one statement may spend against what there is."""
    each = shape.per_query
    if each is None or each.epsilon is None or total is None:
        return None
    place = (*path, "per_query")
    if each.epsilon > total.epsilon:
        budget = f"the role's whole budget is {_decimal(total.epsilon)}"
        access.wrong((*place, "epsilon"), f'is "{_decimal(each.epsilon)}", but {budget}')
    if each.delta is not None and each.delta > total.delta:
        access.wrong((*place, "delta"), f"is above the role's whole budget, whose delta is {_decimal(total.delta)}")
    zcdp = shape.budget is not None and shape.budget.accounting is Accounting.ZCDP
    if zcdp and each.delta is not None and each.delta > total.delta / 2:
        access.wrong((*place, "delta"), "is above half of the role's budget, which is what zcdp leaves of its delta")
    if each.least is not None and each.least > each.epsilon:
        most = f"one statement pays at most {_decimal(each.epsilon)}"
        access.wrong((*place, "least"), f'is "{_decimal(each.least)}", but {most}')
    elif each.least is not None and (table := _chosen_for(shape, access)) and each.least > each.epsilon / CHOOSING:
        most = f"{_decimal(each.epsilon / CHOOSING)}, what choosing max_rows of {table} pays; or declare that number"
        access.wrong((*place, "least"), f'is "{_decimal(each.least)}", it may be at most {most}')
    # In proportion, so that ε and δ run out together; with zCDP ρ grows with ε².
    part = min(Fraction(1), each.epsilon / total.epsilon)
    share = total.delta / 2 * part**2 if zcdp else total.delta * part
    return Privacy(each.epsilon, share if each.delta is None else each.delta)


def _chosen_for(shape: RoleShape, access: Access) -> str | None:
    """Return a table that the role may use, none of whose measurements it could pay for if `max_rows` is chosen for each."""
    for name, table in access.schemas.tables.items():
        unit = table.units.get(shape.protects or "")
        usable = granted_tables(shape, access.schemas)
        granted = usable is None or name in usable
        # A table whose key is the unit has one row of each, and no C to choose.
        if unit is not None and unit.up_to is not None and granted and table.key != unit.column:
            return name
    return None


def _share_of_period(shape: BudgetShape, path: Path, access: Access) -> Privacy | None:
    """Read what a role may spend in a period: the given ε, or a disclosure risk's, divided by the periods of a stay."""
    total = _amount(shape, path, access)
    period, risk = shape.period or Period.NEVER, shape.disclosure_risk
    if shape.stay is not None and (risk is None or period is Period.NEVER):
        access.wrong((*path, "stay"), "is for a disclosure_risk with a period, whose ε it divides")
    if total is None or shape.epsilon is not None or period is Period.NEVER:
        return total
    if shape.stay is None:
        access.wrong(
            (*path, "period"),
            f'is "{period}", but a disclosure risk is that of a whole stay, which would be spent every {period}; add '
            '"stay: 30 days", or however long a person is in the data, or leave out the period',
        )
        return None
    # In each period that a stay touches the whole amount may be spent, and the promise is about the stay.
    return Privacy(total.epsilon / periods_touched(period, shape.stay), total.delta)


def _amount(shape: AmountShape, path: Path, access: Access) -> Privacy | None:
    """Read an amount, given as ε or as a disclosure risk."""
    # What is wrong in it was told, and what follows from that need not be.
    if access.mistakes.touch(access.document, path):
        return None
    risk = {"disclosure_risk": shape.disclosure_risk, "population": shape.population}
    delta = shape.delta or Fraction(0)
    if shape.epsilon is not None:
        for key in (*risk, "membership_risk"):
            if getattr(shape, key) is not None:
                access.wrong((*path, key), "can't be given together with epsilon, which it replaces")
        return Privacy(shape.epsilon, delta)
    if shape.disclosure_risk is None or shape.population is None:
        lacking = [key for key, given in risk.items() if given is None]
        text = 'lacks the key "epsilon" (or disclosure_risk and population)'
        access.wrong(path, text if len(lacking) == 2 else f'lacks the key "{lacking[0]}"')
        return None
    membership = MEMBERSHIP_RISK if shape.membership_risk is None else shape.membership_risk
    try:
        return Privacy(epsilon_for(shape.disclosure_risk, shape.population, membership), delta)
    except ValueError as failure:
        access.wrong((*path, "disclosure_risk"), str(failure))
    return None


def _decimal(value: Fraction) -> str:
    """Write an ε as the configuration would."""
    return f"{float(value):.12g}"
