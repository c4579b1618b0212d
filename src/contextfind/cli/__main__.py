"""`python -m contextfind.cli`: the program without its script."""

from contextfind.cli.main import main

main()
