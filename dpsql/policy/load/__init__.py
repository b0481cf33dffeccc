"""The only reader of YAML: `load` turns `config.yaml` and its schema files into a `Config`.

Or it tells every mistake at once.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from dpsql.errors import ConfigError, InternalError
from dpsql.policy.config import Config
from dpsql.policy.load.document import Document, Mistakes, expand, read_document, suggestion
from dpsql.policy.load.operation import Operation, engine_of, ldap_of, ledger_of, listen_of, shadow_of, snapshot_of
from dpsql.policy.load.roles import Access, budgets_of, read_roles, users_of, with_user_shares, with_zcdp_deltas
from dpsql.policy.load.shapes import ConfigShape, TableShape, ViewShape, read_shape
from dpsql.policy.load.tables import SchemaFile, Schemas, ViewFile, tables_of
from dpsql.policy.model import PUBLIC, Policy, TableName, fingerprint, schemas_of

__all__ = ["load"]

_BEGIN = (
    "Name a configuration with --config, or write one: docs/configuration.md has a whole one to begin with, and dpsql init "
    "DATABASE writes a schema file for each table."
)
_YAML = (".yaml", ".yml")


def load(path: Path, environment: Mapping[str, str] = os.environ) -> Config:
    """Read a configuration and check all of it.

    Raises:
        ConfigError: with one line per mistake: file, line, the value, and what is allowed.
    """
    if not path.exists():
        raise ConfigError(f"{path}: there is no such file", hint=_BEGIN)
    mistakes = Mistakes()
    # Mistakes are collected and not raised: what is wrong is left out, and all else is checked nevertheless. `settle` raises
    # once, so that nobody has to correct a file ten times.
    document = read_document(path, str(path), mistakes)
    if document is None:
        mistakes.settle()
        raise InternalError
    document = expand(document, path.parent, environment, mistakes)
    shape = read_shape(ConfigShape, document, mistakes)
    schemas = _schemas(path, shape, document, mistakes)
    config = _config(path, Access(document, shape, schemas, mistakes))
    mistakes.settle()
    # Whatever leaves the configuration out was noted as a mistake, so that `settle` has raised.
    if config is None:
        raise InternalError
    return config


def _schemas(path: Path, shape: ConfigShape, document: Document, mistakes: Mistakes) -> Schemas:
    """Read the schema files."""
    if shape.schemas is None:
        return Schemas({}, {}, complete=False)
    directory = path.parent / shape.schemas
    if not directory.is_dir():
        mistakes.add(document, ("schemas",), f'is "{directory}", which is no directory')
        return Schemas({}, {}, complete=False)
    places = sorted(_schema_files(directory))
    if not places:
        mistakes.add(document, ("schemas",), f'is "{directory}", which has no .yaml file')
    # A file has two names: hints of clients have it from the configuration's directory on, mistakes as the operator gave it.
    read = {os.path.relpath(place, path.parent): read_document(place, str(place), mistakes) for place in places}
    files, views = list[SchemaFile](), list[ViewFile]()
    for name, schema in read.items():
        if schema is not None and schema.has(("view",)):
            views.append(ViewFile(name, schema, read_shape(ViewShape, schema, mistakes), mistakes))
        elif schema is not None:
            files.append(SchemaFile(name, schema, read_shape(TableShape, schema, mistakes), mistakes))
    every: list[SchemaFile | ViewFile] = [*files, *views]
    for file in every:
        _require_folder_schema(directory, file)
    # In a file that could not be read anything may be declared: nobody is told then that a table or a unit is unknown.
    complete = 0 < len(files) + len(views) == len(places)
    return tables_of(files, views, complete=complete)


def _search_path(access: Access) -> tuple[str, ...]:
    """Check the schemas in which names are looked for."""
    declared = {PUBLIC, *schemas_of((*access.schemas.tables, *access.schemas.views))}
    for at, name in enumerate(access.shape.search_path or ()):
        if access.schemas.complete and name not in declared:
            access.wrong(("search_path", at), f'is "{name}", which no table is in{suggestion(name, declared)}')
    return tuple(access.shape.search_path or ())


def _schema_files(directory: Path) -> Iterator[Path]:
    """Yield the files of a directory, and those in its folders, which are for schemas."""
    for place in directory.iterdir():
        if place.is_dir() and not place.name.startswith("."):
            yield from (inside for inside in place.iterdir() if inside.suffix in _YAML)
        elif place.suffix in _YAML:
            yield place


def _require_folder_schema(directory: Path, file: SchemaFile | ViewFile) -> None:
    """See that what a folder's file declares is of the schema that the folder is called after."""
    folder, name = Path(file.document.file).parent, file.shape.table
    schema = None if name is None else TableName.of(name).schema
    if folder.absolute() != directory.absolute() and schema not in (None, folder.name):
        text = f'is "{name}", in the folder of another schema; write {folder.name}.{TableName.of(name or "").name}'
        file.mistakes.add(file.document, ("table",), f"{text}, or put the file elsewhere")


def _config(path: Path, access: Access) -> Config | None:
    """Check the configuration against the tables; None if something it cannot do without is wrong."""
    shape = access.shape
    tables = access.schemas.tables
    operation = Operation(access.document, shape, path.parent, access.mistakes)
    # Roles are held against the budgets, so these come first. Which part of δ is for zCDP comes last, since it depends
    # on whether the statements of a role have a δ of their own.
    budgets = budgets_of(access)
    roles, users = with_user_shares(read_roles(access, budgets), access), users_of(access)
    budgets = with_zcdp_deltas(budgets, roles, access)
    engine, ledger = engine_of(operation), ledger_of(operation)
    if shape.dataset is None or engine is None or ledger is None:
        return None
    listen = listen_of(shape.listen, ("listen",), operation)
    web = None if shape.web is None else listen_of(shape.web, ("web",), operation)
    metrics = None if shape.metrics is None else listen_of(shape.metrics, ("metrics",), operation)
    for key, other in (("web", web), ("metrics", metrics)):
        if other is not None and other.port and (other.host, other.port) == (listen.host, listen.port):
            access.wrong((key, "port"), f"is {other.port}, where clients connect (listen); take another")
    growing = [table.name for table in tables.values() if table.grows is not None]
    if growing and not (shape.engine is not None and shape.engine.snapshot):
        access.wrong(
            ("engine",),
            f'answers from the records themselves, and table "{growing[0]}" grows, which needs a copy: '
            "snapshot: true, or take grows out of the table's file",
        )
    return Config(
        policy=Policy(
            shape.dataset, tables, roles, budgets, fingerprint(tables), access.schemas.views, _search_path(access)
        ),
        engine=engine,
        listen=listen,
        shadow=shadow_of(operation),
        ledger=ledger,
        users=users,
        file=path,
        refresh=shape.refresh,
        trial=shape.trial,
        unverified=shape.engine is not None and shape.engine.unverified,
        web=web,
        metrics=metrics,
        ldap=ldap_of(operation),
        audit=None if shape.audit is None else path.parent / shape.audit,
        snapshot=snapshot_of(operation),
        notes=tuple(map(str, sorted(set(access.mistakes.notes)))),
    )
