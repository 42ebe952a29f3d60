# Every command is `python3 -m lessons <command> NAME=value ...`; make only passes it on.
PYTHON ?= python3

# NAME=value from the command line, by name: the shell reads the value from its environment, so
# spaces and quotes survive.
names := $(foreach name,$(.VARIABLES),$(if $(filter command line,$(origin $(name))),$(name)))
variables = $(foreach name,$(filter-out PYTHON,$(names)),$(name)="$$$(name)")

# Names of commands and of folders, so that a folder or a file never counts as "up to date".
modules := $(filter-out __init__,$(notdir $(basename $(wildcard lessons/kit/commands/*.py))))
folders := lessons notebooks solutions tests outputs
known := $(sort help test tests $(modules) $(folders))

.DEFAULT_GOAL := help
.SUFFIXES:
.PHONY: $(known)

$(known):
	@$(PYTHON) -m lessons $@ $(variables)

Makefile: ;

%:
	@$(PYTHON) -m lessons $@ $(variables)
