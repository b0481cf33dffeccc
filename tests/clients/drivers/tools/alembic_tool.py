"""Alembic: the current revision, autogeneration against the tables that are there, and what it would write."""

# mypy: ignore-errors

import io
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from told import HOME, tried, url

engine = sa.create_engine(url())
here = Path(HOME) / "migrations"
models = sa.MetaData()
ZONES = sa.Table(
    "zones",
    models,
    sa.Column("zone_id", sa.Integer, primary_key=True),
    sa.Column("zone", sa.Text, nullable=False),
    sa.Column("borough", sa.Text, nullable=False),
    comment="the taxi zones of New York",
)


def compared(of: sa.MetaData, **options: object) -> object:
    with engine.connect() as held:
        context = MigrationContext.configure(
            held,
            opts={
                "compare_type": True,
                "compare_server_default": True,
                "include_name": lambda name, kind, _: kind != "table" or name in ("trips", "zones"),
                **options,
            },
        )
        return sorted(
            str(change[0] if isinstance(change, tuple) else [one[0] for one in change])
            for change in compare_metadata(context, of)
        )


def reflected() -> object:
    found = sa.MetaData()
    found.reflect(engine, only=["trips", "zones"])
    return [found, sorted(found.tables)]


def _like_models() -> object:
    return compared(models)


def _with_all() -> object:
    found, _ = reflected()
    return compared(found)


def _rendered() -> object:
    found, _ = reflected()
    found.tables["trips"].append_column(sa.Column("night", sa.Boolean))
    with engine.connect() as held:
        context = MigrationContext.configure(
            held, opts={"include_name": lambda name, kind, _: kind != "table" or name in ("trips", "zones")}
        )
        return render_python_code(produce_migrations(context, found).upgrade_ops)


def configured() -> Config:
    said = io.StringIO()
    config = Config(str(Path(HOME) / "alembic.ini"), stdout=said, output_buffer=said)
    config.set_main_option("script_location", str(here))
    config.set_main_option("sqlalchemy.url", url().replace("%", "%%"))
    if not here.exists():
        command.init(config, str(here))
    return config


def said(work: object, *words: str) -> object:
    config = configured()
    work(config, *words)
    return [line for line in config.stdout.getvalue().splitlines() if "://" not in line]


def _revised() -> object:
    said(lambda config: command.revision(config, "nothing", rev_id="one"))
    return len([*(here / "versions").glob("*.py")])


tried("comparison", "reflect", lambda: reflected()[1])
tried("comparison", "compare_metadata with what is there", _with_all)
tried("comparison", "compare_metadata without a table", _like_models)
tried("comparison", "render_python_code", _rendered)
tried("commands", "current", lambda: said(command.current))
tried("commands", "current --verbose", lambda: said(lambda config: command.current(config, verbose=True)))
tried("commands", "history", lambda: said(command.history))
tried("commands", "revision", _revised)
tried("commands", "heads", lambda: said(command.heads))
tried("commands", "upgrade --sql", lambda: len(said(lambda config: command.upgrade(config, "head", sql=True))) > 0)
tried("writes", "stamp", lambda: said(lambda config: command.stamp(config, "head")))
tried("writes", "upgrade", lambda: said(lambda config: command.upgrade(config, "head")))
