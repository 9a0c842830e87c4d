#!/bin/sh
# Writes what controller-gen makes from the markers: deepcopy functions, the CRD
# and the manager's role.
#
# usage: generate.sh CONTROLLER_GEN [ROOT]    (default root: the repository)
set -eu

controller_gen=$(realpath "$1")
cd "$(dirname "$0")/.."
root=${2:-.}

"$controller_gen" \
	object "output:object:dir=$root/api/v1" \
	crd "output:crd:artifacts:config=$root/config/crd/bases" \
	paths=./api/...
"$controller_gen" \
	rbac:roleName=manager "output:rbac:artifacts:config=$root/config/rbac" \
	paths=./controllers/...
