# `make help` is the index of everything one can do here.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# What the binary calls itself.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# The image to build and to deploy.
IMG ?= recoup:latest
CONTAINER_TOOL ?= docker
KUBECTL ?= kubectl

BIN := $(CURDIR)/bin
CONTROLLER_GEN := $(BIN)/controller-gen
KUSTOMIZE := $(BIN)/kustomize
GOLANGCI_LINT := $(BIN)/golangci-lint
STACK := $(BIN)/stack

# What `make test` tests, and how.
PKG ?= ./...
TESTFLAGS ?= -race -timeout 20m

##@ General

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@ / {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-zA-Z0-9_-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Development

.PHONY: generate
generate: manifests ## Write what is generated from the markers: deepcopy functions, CRD, role.

.PHONY: manifests
manifests: $(CONTROLLER_GEN) ## Another name for generate: CRD and role come from the same run.
	hack/generate.sh $(CONTROLLER_GEN)

.PHONY: verify
verify: $(CONTROLLER_GEN) $(KUSTOMIZE) ## Fail if a generated file is stale or a kustomize tree doesn't build.
	hack/verify.sh $(CONTROLLER_GEN) $(KUSTOMIZE)

.PHONY: test
test: stack ## Run the tests PKG with TESTFLAGS, on a stack that is brought up for them and taken down again.
	$(STACK) run --name test --race -- go test $(TESTFLAGS) $(PKG)

.PHONY: demo
demo: stack build ## Tell five jobs' stories on a real cluster, which stays up; fail if one ends otherwise.
	$(STACK) up
	@go build -o $(BIN)/demo ./hack/demo
	$(STACK) run -- $(BIN)/demo

.PHONY: fmt
fmt: ## Format the code.
	go fmt ./...

.PHONY: vet
vet: ## Run go vet.
	go vet ./...

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run golangci-lint.
	$(GOLANGCI_LINT) run ./...

##@ Stack

.PHONY: stack-up
stack-up: stack ## Start a cluster with GPU nodes, MongoDB and Redis on loopback ports; build what is missing first.
	$(STACK) up

.PHONY: stack-status
stack-status: stack ## Show the stack's parts, and fail if one isn't well.
	@$(STACK) status

.PHONY: stack-down
stack-down: stack ## Stop the stack and remove its data; its logs stay.
	$(STACK) down

.PHONY: stack-env
stack-env: stack ## Print the variables that point at the stack, for a shell to evaluate.
	@$(STACK) env

# Go decides by itself whether there is anything to build. Run as a program of its own, the stack's exit codes are kept.
.PHONY: stack
stack:
	@go build -o $(STACK) ./hack/stack

##@ Build

.PHONY: build
build: ## Build bin/recoup.
	go build -ldflags '-X recoup.dev/recoup/internal/cli.Version=$(VERSION)' -o $(BIN)/recoup .

.PHONY: image
image: ## Build the image IMG with CONTAINER_TOOL.
	$(CONTAINER_TOOL) build --build-arg VERSION=$(VERSION) --tag $(IMG) .

.PHONY: image-check
image-check: ## Build the image with buildah from local base images, and look at what came out.
	hack/image/check.sh

##@ Deployment

.PHONY: install
install: $(KUSTOMIZE) ## Install the CRD into the cluster of KUBECONFIG.
	$(KUSTOMIZE) build config/crd | $(KUBECTL) apply --server-side -f -
	$(KUBECTL) wait --for condition=Established --timeout 1m -f config/crd/bases

# Deleting the CRD deletes every BillableJob, and their finalizers need the manager.
.PHONY: uninstall
uninstall: $(KUSTOMIZE) ## Remove the CRD; refused while there are BillableJobs, unless FORCE=1.
	@if ! $(KUBECTL) get crd billablejobs.billing.recoup.dev --ignore-not-found --output name | grep -q .; then exit 0; fi; \
	jobs=$$($(KUBECTL) get billablejobs --all-namespaces --output name) || exit 1; \
	if [ "$(FORCE)" != 1 ] && [ -n "$$jobs" ]; then \
	  echo "There are BillableJobs, which would be deleted with the CRD. Delete them while the manager runs, so that it settles them; or set FORCE=1." >&2; exit 1; fi
	$(KUSTOMIZE) build config/crd | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: deploy
deploy: $(KUSTOMIZE) ## Install CRD, roles and manager (image IMG) into the cluster of KUBECONFIG.
	$(KUSTOMIZE) build config/default | sed 's|image: recoup:latest|image: $(IMG)|' | $(KUBECTL) apply --server-side -f -
	@$(KUBECTL) --namespace recoup-system get secret recoup-stores >/dev/null 2>&1 || \
	  echo "The manager waits for the Secret recoup-stores: see config/manager/stores_secret.example.yaml."

.PHONY: undeploy
undeploy: ## Remove the manager and its roles; the CRD, the BillableJobs and the namespace stay.
	$(KUBECTL) --namespace recoup-system delete deployments,services,poddisruptionbudgets,rolebindings,roles,serviceaccounts --selector app.kubernetes.io/part-of=recoup
	$(KUBECTL) delete clusterrolebindings,clusterroles --selector app.kubernetes.io/part-of=recoup

# The tools, each at the version that its module pins.

$(CONTROLLER_GEN): hack/tools/go.mod hack/tools/go.sum
	cd hack/tools && go build -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen

$(KUSTOMIZE): hack/tools/go.mod hack/tools/go.sum
	cd hack/tools && go build -o $@ sigs.k8s.io/kustomize/kustomize/v5

$(GOLANGCI_LINT): hack/tools/lint/go.mod hack/tools/lint/go.sum
	cd hack/tools/lint && go build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
