"""A paper's table or figure, ours beside the printed numbers.

A recipe (`experiments/NAME/recipe.yaml`) is data; `plan` turns it and what was typed into
rows, `engine` does their repeats and keeps them, `assemble` puts the numbers side by side,
`output` writes them. Importing this package is cheap.
"""
