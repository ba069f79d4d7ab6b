"""Values, protocols, errors and settings, and the calls to users' code: what every other package is built on."""
