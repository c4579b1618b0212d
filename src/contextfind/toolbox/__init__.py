"""The tools that agents are given over the Model Context Protocol."""
