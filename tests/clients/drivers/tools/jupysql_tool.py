"""JupySQL's magics in an IPython of their own: statements, snippets, profiles, tests, plots."""

# mypy: ignore-errors

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from IPython.core.interactiveshell import InteractiveShell
from told import tried, url

shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "sql")
shell.run_line_magic("config", "SqlMagic.displaycon = False")
shell.run_line_magic("config", "SqlMagic.named_parameters = 'enabled'")


def line(text: str) -> object:
    return shell.run_line_magic("sql", text)


def cell(text: str, options: str = "") -> object:
    return [list(map(str, row)) for row in shell.run_cell_magic("sql", options, text)]


def command(text: str) -> object:
    return str(shell.run_line_magic("sqlcmd", text))


def plot(text: str) -> object:
    plt.close("all")
    axes = shell.run_line_magic("sqlplot", text)
    heights = [round(float(bar.get_height()), 6) for bar in axes.patches if hasattr(bar, "get_height")]
    return [height for height in heights if height]


BY = "SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type ORDER BY 1"
tried("connection", "%sql", lambda: line(url()) is None)
tried("profile", "%sqlcmd profile", lambda: command("profile --table trips"))
tried("profile", "%sqlcmd profile of a public table", lambda: command("profile --table zones"))
tried("statements", "grouped", lambda: cell(BY))
tried(
    "statements",
    "with a parameter",
    lambda: shell.user_ns.__setitem__("dear", 20) or cell("SELECT count(*) FROM trips WHERE fare > :dear"),
)
tried("statements", "as a data frame", lambda: shell.run_cell_magic("sql", "", BY).DataFrame().shape)
tried("statements", "rows", lambda: cell("SELECT * FROM trips LIMIT 3"))
tried(
    "snippets",
    "--save of an answer",
    lambda: (cell(BY, "--save paid"), cell("SELECT sum(n) FROM paid", "--with paid"))[1],
)
tried(
    "snippets",
    "--save of rows",
    lambda: (
        shell.run_cell_magic("sql", "--save dear --no-execute", "SELECT * FROM trips WHERE fare > 20"),
        cell("SELECT count(*) FROM dear", "--with dear"),
    )[1],
)
tried("tables", "%sqlcmd tables", lambda: command("tables"))
tried("tables", "%sqlcmd columns", lambda: command("columns --table trips"))
tried("tests", "%sqlcmd test --greater", lambda: command("test --table trips --column fare --greater 0"))
tried("tests", "%sqlcmd test --less-than", lambda: command("test --table trips --column fare --less-than 151"))
tried("explore", "%sqlcmd explore", lambda: command("explore --table trips").split()[0])
tried("plots", "histogram of numbers", lambda: plot("histogram --table trips --column fare --bins 10"))
tried("plots", "histogram of texts", lambda: plot("histogram --table trips --column payment_type"))
tried("plots", "bar", lambda: plot("bar --table trips --column payment_type"))
tried(
    "plots",
    "pie",
    lambda: plt.close("all") or len(shell.run_line_magic("sqlplot", "pie --table trips --column payment_type").patches),
)
tried("plots", "boxplot", lambda: plot("boxplot --table trips --column fare"))
