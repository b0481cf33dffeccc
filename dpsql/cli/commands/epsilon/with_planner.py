"""`dpsql epsilon`: the commands that help to choose ε, with the planner of statements that they ask."""

from dpsql.cli.commands.epsilon.app import make_epsilon_app
from dpsql.cli.support.planned import planned

with_planner = make_epsilon_app(planned)
