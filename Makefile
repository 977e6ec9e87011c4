# h2surge. "make help" lists the targets. "make demo" and "make test" need only Go and make.

# Image of the operator, the runner, the command line and the kubectl plugin; one image, four programs.
IMG ?= localhost/h2surge:dev
# Platforms of that image: one gives an archive for "docker load" and "ctr images import", several an OCI layout.
PLATFORMS ?= linux/$(shell go env GOARCH)
KUBECTL ?= kubectl
# How long "make fuzz" runs each fuzz target.
FUZZTIME ?= 20s
FUZZ ?= .
# Flags of "make scale".
SCALE ?= -runs 10 -shards 2000
# How long "make e2e-long" sends load.
SOAK ?= 20m
# How long "make simulate" runs new seeds, and which former defects "make simulate-defects" puts back (a regular expression).
TIME ?= 5m
DEFECTS ?= .
# How often "make bench-go" repeats each benchmark.
BENCHCOUNT ?= 6

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Name and tag of IMG, and the version of the chart: that of the tag, or a pre-release.
TAG = $(lastword $(subst :, ,$(IMG)))
REPOSITORY = $(patsubst %:$(TAG),%,$(IMG))
CHART_VERSION = $(if $(filter v%,$(VERSION)),$(VERSION:v%=%),0.0.0-g$(VERSION))

# One set of flags everywhere: they are part of the build cache's key. Only the race detector needs C (hack/race.sh).
export GOFLAGS := -trimpath -buildvcs=false
export CGO_ENABLED := 0
LDFLAGS := -s -w -X github.com/h2surge/h2surge/internal/version.Version=$(VERSION)
TOOLS := bin/tools
# Writes the modules of a program. The same program gives the same bytes.
SBOM := $(TOOLS)/cyclonedx-gomod bin -json -std -noserial -notimestamp
# Shows "go test -json" with gotestsum; in CI, fails on a skipped test that hack/skips.txt does not name.
GOTEST := hack/gotest.sh

# What gofmt formats and checks.
SOURCES := *.go api cmd controllers hack internal runner test

SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

##@ Use

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9.-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: bin/h2surge ## Run the quickstart against the embedded target; no cluster.
	bin/h2surge run -f config/samples/quickstart.yaml --demo

##@ Develop

.PHONY: generate
generate: $(TOOLS)/controller-gen ## Regenerate deep copies.
	$(TOOLS)/controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...

.PHONY: manifests
manifests: $(TOOLS)/controller-gen ## Regenerate the CRDs, the schemas for programs, and the operator's RBAC role, in config/ and in the chart.
	$(TOOLS)/controller-gen crd:allowDangerousTypes=true paths=./api/... output:crd:dir=config/crd/bases
	go run ./hack/crd config/crd/bases/*.yaml
	go test ./internal/compile -run TestSchemasAreGenerated -update
	@mkdir -p dist
	go run ./hack/targetschema internal/mock/rules/file.go > dist/target.json.new && mv dist/target.json.new internal/mock/rules/schema.json
	$(TOOLS)/controller-gen rbac:roleName=h2surge-manager paths=./controllers/... output:rbac:dir=config/rbac
	hack/chart.sh

.PHONY: docs
docs: $(TOOLS)/crd-ref-docs ## Regenerate docs/reference/api.md, docs/reference/metrics.md and the JSON Schemas for editors.
	@mkdir -p dist docs/reference/schema
	$(TOOLS)/crd-ref-docs --source-path=api/v1alpha1 --config=hack/tools/crd-ref-docs.yaml --renderer=markdown --max-depth=20 --output-path=docs/reference/api.md --log-level=ERROR
	sed 's/\\x\\{b5\\}/µ/g' docs/reference/api.md > dist/api.md.new && mv dist/api.md.new docs/reference/api.md
	for k in manifest loadtest loadtestschedule target; do \
	  go run ./cmd/h2surge schema $${k#manifest} > dist/$$k.json.new && mv dist/$$k.json.new docs/reference/schema/$$k.json || exit 1; \
	done
	go run ./hack/metrics > dist/metrics.md.new && mv dist/metrics.md.new docs/reference/metrics.md

.PHONY: fmt
fmt: ## Format the Go code.
	gofmt -s -w $(SOURCES)

.PHONY: fmt-check
fmt-check: ## Fail if Go code is not formatted.
	@out=$$(gofmt -s -l $(SOURCES)) && [ -z "$$out" ] || { echo "not formatted (make fmt):"; echo "$$out"; exit 1; }

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## Run golangci-lint, also on tests with build tags; it includes go vet and checks the rules of imports.
	$(TOOLS)/golangci-lint run

.PHONY: licences
licences: ## Fail if a module in a program has a licence that hack/licences.sh does not allow.
	hack/licences.sh

.PHONY: vulncheck
vulncheck: $(TOOLS)/govulncheck ## Look for known vulnerabilities in the code that is called; VULNCHECK=required fails if the database cannot be reached.
	hack/vulncheck.sh

.PHONY: prose
prose: ## Count the words that hack/prose/rules.yaml replaces in comments and identifiers, by package; PKG=FOLDER prints the places.
	@go run ./hack/prose -rest $(PKG)

.PHONY: verify
verify: generate manifests docs fmt-check lint licences vulncheck $(TOOLS)/actionlint ## Regenerate all generated files and fail if one differs; format, lint, shellcheck, actionlint, words, licences, vulnerabilities, macOS build.
	cd hack/tools && go test ./...
	hack/verify.sh

.PHONY: run
run: bin/manager ## Run the operator on this machine against the current kubectl context.
	bin/manager $(ARGS)

##@ Test

.PHONY: check
check: fmt-check ## Run this after each change: format, vet, and the tests that need no API server; what did not change comes from Go's cache.
	go vet ./...
	go test -short -vet=off -json ./... | $(GOTEST)

.PHONY: test
test: ## Run all tests that need no cluster: unit tests, zero-allocation tests, and those with a real API server (envtest).
	hack/test.sh

.PHONY: race
race: ## Run the tests of packages with goroutines under the race detector; installs gcc as root.
	hack/race.sh

.PHONY: chart-test
chart-test: $(TOOLS)/helm ## Lint, render and install the Helm chart (envtest); the first run builds Helm, about 3 minutes of CPU.
	$(TOOLS)/helm lint --strict charts/h2surge
	KUBEBUILDER_ASSETS=$$(hack/envtest-assets.sh) go test -json -tags chart -count=1 ./test/chart | $(GOTEST)

.PHONY: prometheus-test
prometheus-test: $(TOOLS)/helm $(TOOLS)/prometheus $(TOOLS)/otelcol ## Scrape a real run with a real Prometheus, and send its figures to a real collector; installs the package of Prometheus as root.
	hack/install.sh prometheus=prometheus promtool=prometheus || [ -z "$$CI" ]
	go test -json -tags prometheus -count=1 ./test/prometheus/... | $(GOTEST)

.PHONY: s3-test
s3-test: $(TOOLS)/versitygw ## Upload a report to a real S3 server (Versity S3 Gateway); the first run builds it, about 2 minutes of CPU.
	go test -json -tags s3 -count=1 ./controllers/internal/storage | $(GOTEST)

.PHONY: e2e
e2e: ## Run the user stories on a real cluster: E2E_KUBECONFIG, else kind, else hack/cluster; the first run builds Helm and Prometheus.
	hack/e2e.sh

.PHONY: e2e-long
e2e-long: ## Run a soak of SOAK (20m) without a cluster, then the stories that wait for minutes on a real cluster (an hour).
	hack/e2e-long.sh $(SOAK)
	LONG=1 hack/e2e.sh

.PHONY: scale
scale: bin/manager ## Measure CPU, memory and writes of the operator with SCALE ('-runs 10 -shards 2000') against simulated runners; envtest.
	@mkdir -p dist/scale
	go build -o dist/scale/fleet ./controllers/internal/runnertest/fleet
	go build -o dist/scale/scale ./test/scale
	KUBEBUILDER_ASSETS=$$(hack/envtest-assets.sh) dist/scale/scale -json dist/scale/figures.json $(SCALE)

.PHONY: skew-test
skew-test: ## Run this operator with runners of the last tag (or of the commit in test/skew/previous), and the reverse; envtest, and needs the git history.
	hack/skew.sh

.PHONY: conformance
conformance: ## Run the engine against real servers: nginx, nghttpd, haproxy, caddy, Node, Python, Go, gRPC, HTTP/3; installs their packages as root.
	hack/install.sh nginx=nginx nghttpd=nghttp2-server h2o=h2o haproxy=haproxy apache2=apache2 caddy=caddy node=nodejs python3=python3 openssl=openssl || [ -z "$$CI" ]
	hack/site/venv.sh bin/grpcio test/conformance/requirements.txt || [ -z "$$CI" ]
	go test -json -tags conformance -count=1 ./test/conformance | $(GOTEST)

.PHONY: conformance-more
conformance-more: ## Run the engine against servers in Rust (tonic, quinn) and Java (grpc-java), built from test/conformance/servers with crates.io and Maven Central; not in .ci/run.
	hack/install.sh cargo=cargo javac=default-jdk-headless mvn=maven
	CARGO_TARGET_DIR=$(CURDIR)/bin/rust cargo build --release --locked --manifest-path test/conformance/servers/tonic/Cargo.toml
	CARGO_TARGET_DIR=$(CURDIR)/bin/rust cargo build --release --locked --manifest-path test/conformance/servers/quinn/Cargo.toml
	mvn -q -B -f test/conformance/servers/grpc-java/pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/bin/grpc-java/lib
	javac -Xlint:all -Werror --release 17 -cp 'bin/grpc-java/lib/*' -d bin/grpc-java/classes test/conformance/servers/grpc-java/src/main/java/Echo.java
	go test -json -tags conformance,more -count=1 -run TestMore ./test/conformance | $(GOTEST)

.PHONY: delivery-test
delivery-test: ## Check the examples of config/delivery against the API types of Argo Rollouts, Flagger, Flux and Tekton.
	cd test/delivery && go test ./...

.PHONY: html
html: ## Test the HTML report in headless Chromium, installed as root; pictures go to dist/html.
	hack/install.sh chromium=chromium || [ -z "$$CI" ]
	go test -json -tags html -count=1 ./test/html | $(GOTEST)

.PHONY: site
site: ## Build the site of the docs in dist/site, strict: links, anchors, and nothing from elsewhere; needs PyPI the first time.
	hack/site/venv.sh bin/site
	NO_MKDOCS_2_WARNING=1 bin/site/bin/mkdocs build -q
	go test -json -tags site -count=1 ./test/site | $(GOTEST)

.PHONY: cgroup2-test
cgroup2-test: ## Check CPUs, throttling and memory limits on cgroup v2, in an emulated machine (qemu, installed as root); a minute.
	hack/install.sh qemu-system-x86_64=qemu-system-x86 || [ -z "$$CI" ]
	test/cgroup2/kernel.sh dist/cgroup2 || [ -z "$$CI" ]
	go test -json -tags cgroup2 -count=1 ./test/cgroup2 | $(GOTEST)

.PHONY: release-test
release-test: $(TOOLS)/crane $(TOOLS)/helm bin/h2surge ## Install from the archive of "make airgap" for this platform: local registry, Helm, envtest; run the scripts of the actions.
	rm -f dist/h2surge-airgap-*.tar.gz
	$(MAKE) -s airgap PLATFORMS=linux/$$(go env GOARCH) IMG=registry.example:5000/h2surge:v0.1.0 VERSION=v0.1.0 KUBECTL=$$(hack/envtest-assets.sh)/kubectl
	KUBEBUILDER_ASSETS=$$(hack/envtest-assets.sh) go test -json -tags release -count=1 ./test/release | $(GOTEST)

.PHONY: release-check
release-check: $(addprefix $(TOOLS)/,actionlint goreleaser) ## Check the workflows and the configuration of a release; the first run builds GoReleaser, about 4 minutes of CPU.
	$(TOOLS)/actionlint
	$(TOOLS)/goreleaser check

.PHONY: release-snapshot
release-snapshot: release-check airgap $(addprefix $(TOOLS)/,cyclonedx-gomod validate-krew-manifest) ## Make the files of a release in dist/release, without publishing, and check krew's manifest; about 10 minutes of CPU.
	PATH=$(CURDIR)/$(TOOLS):$$PATH goreleaser release --snapshot --clean --skip=publish,sign
	$(TOOLS)/validate-krew-manifest -manifest dist/release/krew/h2surge.yaml -skip-install

.PHONY: cover
cover: ## Measure test coverage by function, also in dist/cover.html.
	@mkdir -p dist
	KUBEBUILDER_ASSETS=$$(hack/envtest-assets.sh) go test -coverprofile=dist/cover.out ./...
	go tool cover -html=dist/cover.out -o dist/cover.html
	go tool cover -func=dist/cover.out | tail -n 1

.PHONY: simulate
simulate: ## Simulate the whole system with new seeds for TIME on all CPUs; dist/simulate gets a report for each kind of failure. With CI=true, they only show.
	@mkdir -p dist/simulate
	go test -json -count=1 -timeout 0 -run '^TestSeeds$$' ./test/simulate -time $(TIME) -keep $(CURDIR)/dist/simulate $(if $(CI),-lenient) | $(GOTEST) -v

.PHONY: simulate-defects
simulate-defects: ## Put each former defect that matches DEFECTS back, and simulate until a seed fails, for at most 10 minutes of a CPU each.
	go test -json -count=1 -timeout 0 -run '^TestDefects$$' ./test/simulate -defects '$(DEFECTS)' -time 10m | $(GOTEST) -v

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME, or only those in folders that match FUZZ; FUZZ='runner/(h1|h2|loop)$$': sessions and loop.
	hack/fuzz.sh $(FUZZTIME) '$(FUZZ)'

.PHONY: bench
bench: bin/h2surge $(TOOLS)/ghz ## Compare with h2load, wrk, ab, ghz, Go's client and the floor and write docs/project/benchmarks.md and the table of docs/how-to/sizing.md; 19 minutes.
	@go build -o bin/perf ./test/perf
	PATH=$(CURDIR)/$(TOOLS):$$PATH bin/perf -h2surge bin/h2surge -write docs/project/benchmarks.md -sizing docs/how-to/sizing.md

.PHONY: accuracy
accuracy: bin/h2surge ## Compare rates, lag, percentiles and shards with arithmetic and write docs/project/accuracy.md; 6 minutes.
	@go build -o bin/accuracy ./test/accuracy
	bin/accuracy -h2surge bin/h2surge -write docs/project/accuracy.md

.PHONY: bench-go
bench-go: ## Run the engine's Go benchmarks, BENCHCOUNT times each.
	go test -run '^$$' -bench . -benchmem -count $(BENCHCOUNT) ./runner/... ./internal/...

.PHONY: pictures
pictures: bin/manager bin/runner bin/h2surge bin/kubectl-h2surge ## Make the pictures of docs/images from real runs, with headless Chromium, installed as root, and envtest; 3 minutes, on a machine with nothing else to do.
	hack/install.sh chromium=chromium
	go run ./test/pictures
	KUBEBUILDER_ASSETS=$$(hack/envtest-assets.sh) go test -tags pictures -count=1 ./test/pictures

##@ Build

.PHONY: build
build: bin/manager bin/runner bin/h2surge bin/kubectl-h2surge ## Build bin/manager, bin/runner, bin/h2surge and bin/kubectl-h2surge.

# Go decides what to rebuild, so these always run.
.PHONY: bin/manager bin/runner bin/h2surge bin/kubectl-h2surge
bin/manager bin/runner bin/h2surge bin/kubectl-h2surge: bin/%:
	@[ ! -L $@ ] || rm $@ # the plugin was a link to bin/h2surge once
	go build -ldflags '$(LDFLAGS)' -o $@ ./cmd/$*

.PHONY: rootfs
rootfs: $(TOOLS)/cyclonedx-gomod ## Build the files of the image, with the same modes for each umask: dist/root/OS/ARCH, with a CycloneDX document of each program's modules.
	@for p in $(PLATFORMS); do \
	  rm -rf dist/root/$$p && mkdir -p dist/root/$$p/etc dist/root/$$p/sbom && cp hack/passwd dist/root/$$p/etc/ || exit 1; \
	  for c in h2surge-manager=manager h2surge-runner=runner h2surge=h2surge kubectl-h2surge=kubectl-h2surge; do \
	    GOOS=$${p%%/*} GOARCH=$${p##*/} go build -ldflags '$(LDFLAGS)' -o dist/root/$$p/$${c%%=*} ./cmd/$${c##*=} && \
	    $(SBOM) -version $(VERSION) -output dist/root/$$p/sbom/$${c%%=*}.cdx.json dist/root/$$p/$${c%%=*} || exit 1; \
	  done; \
	  chmod -R u=rwX,go=rX dist/root/$$p && install -d -m 1777 dist/root/$$p/tmp || exit 1; \
	done

.PHONY: image
image: rootfs $(TOOLS)/crane ## Build the image without a container engine: dist/h2surge.tar, and the OCI layout dist/h2surge.oci.
	hack/image.sh dist/h2surge $(IMG) $(VERSION) /h2surge-manager $(foreach p,$(PLATFORMS),$(p)=dist/root/$(p))

.PHONY: image-test
image-test: image ## Build the Dockerfile without Docker (buildah, installed as root) and compare its image with the image of "make image".
	hack/install.sh buildah=buildah
	hack/image-test.sh $(IMG) $(VERSION)

.PHONY: reproducible
reproducible: ## Build the image of the last commit twice, in different places with empty build caches, and fail if the two differ.
	hack/reproducible.sh

.PHONY: chart
chart: $(TOOLS)/helm ## Package the Helm chart of the image IMG: dist/h2surge-VERSION.tgz.
	rm -rf dist/chart dist/h2surge-*.tgz && mkdir -p dist/chart && cp -r charts/h2surge dist/chart/
	sed -i 's|^  repository: h2surge$$|  repository: $(REPOSITORY)|' dist/chart/h2surge/values.yaml
	$(TOOLS)/helm package dist/chart/h2surge --version $(CHART_VERSION) --app-version $(TAG) --destination dist

.PHONY: install.yaml
install.yaml: ## Write all that "make deploy" applies, with the image IMG, into one file: dist/install.yaml.
	hack/overlay.sh $(IMG) dist/install
	$(KUBECTL) kustomize dist/install >dist/install.yaml.new && mv dist/install.yaml.new dist/install.yaml

.PHONY: airgap
airgap: PLATFORMS := linux/amd64 linux/arm64
airgap: image chart install.yaml ## Pack image, chart, install.yaml and programs of IMG for a network without internet: dist/h2surge-airgap-VERSION.tar.gz.
	hack/airgap.sh $(IMG) $(CHART_VERSION) $(PLATFORMS)

.PHONY: docker-build
docker-build: rootfs ## Build the image with Docker.
	docker build --platform $(PLATFORMS) --build-arg VERSION=$(VERSION) -t $(IMG) .

.PHONY: docker-buildx
docker-buildx: PLATFORMS := linux/amd64 linux/arm64
docker-buildx: rootfs ## Build the image for amd64 and arm64 with Docker and push it to IMG.
	docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=$(VERSION) --push -t $(IMG) .

##@ Deploy

.PHONY: install
install: ## Install the CRDs.
	$(KUBECTL) apply -k config/crd

.PHONY: uninstall
uninstall: delete-tests ## Remove the CRDs and all LoadTests.
	$(KUBECTL) delete --ignore-not-found -k config/crd

.PHONY: deploy
deploy: ## Install CRD, RBAC and operator, with the image IMG.
	hack/overlay.sh $(IMG) dist/deploy
	$(KUBECTL) apply -k dist/deploy

.PHONY: undeploy
undeploy: delete-tests ## Remove everything that deploy installed, and all LoadTests.
	$(KUBECTL) delete --ignore-not-found -k config/default

# Without the CRDs, the garbage collector does not know who owns the Jobs, and these continue to send load.
.PHONY: delete-tests
delete-tests: ## Delete all LoadTestSchedules and LoadTests of the cluster, and wait until their Jobs are deleted.
	@for kind in loadtestschedules loadtests; do \
	  crd=$$($(KUBECTL) get crd $$kind.h2surge.io --ignore-not-found -o name) || exit; \
	  [ -z "$$crd" ] || $(KUBECTL) delete $$kind.h2surge.io --all --all-namespaces --cascade=foreground || exit; \
	done

.PHONY: deploy-target
deploy-target: ## Deploy the sample target of config/target into kubectl's namespace, with the image IMG, and wait until it runs.
	hack/overlay.sh $(IMG) dist/target config/target
	$(KUBECTL) apply -k dist/target
	$(KUBECTL) rollout status deployment/target --timeout=2m

.PHONY: undeploy-target
undeploy-target: ## Remove the sample target.
	$(KUBECTL) delete --ignore-not-found -k config/target

.PHONY: cluster-up
cluster-up: ## Start the real one-node cluster of hack/cluster (root, Debian 12).
	hack/cluster/up

.PHONY: cluster-down
cluster-down: ## Stop the cluster of hack/cluster; its binaries stay.
	hack/cluster/down

# Tools, pinned in modules of their own.
.PHONY: tools
tools: $(addprefix $(TOOLS)/,crane cyclonedx-gomod helm otelcol prometheus) ## Build the tools that several tests need and that take long to build.

$(TOOLS)/controller-gen $(TOOLS)/setup-envtest $(TOOLS)/crd-ref-docs: hack/tools/go.mod
	cd hack/tools && go build -o $(CURDIR)/$@ $$(go list -f '{{.ImportPath}}' tool | grep '/$(@F)$$')
$(TOOLS)/crane $(TOOLS)/cyclonedx-gomod $(TOOLS)/actionlint $(TOOLS)/gotestsum: hack/tools/release/go.mod
	cd hack/tools/release && go build -o $(CURDIR)/$@ $$(go list -f '{{.ImportPath}}' tool | grep '/$(@F)$$')
$(TOOLS)/goreleaser: hack/tools/goreleaser/go.mod
	cd hack/tools/goreleaser && go build -o $(CURDIR)/$@ github.com/goreleaser/goreleaser/v2
$(TOOLS)/validate-krew-manifest: hack/tools/krew/go.mod
	cd hack/tools/krew && go build -o $(CURDIR)/$@ sigs.k8s.io/krew/cmd/validate-krew-manifest
$(TOOLS)/govulncheck: hack/tools/vuln/go.mod
	cd hack/tools/vuln && go build -o $(CURDIR)/$@ golang.org/x/vuln/cmd/govulncheck
$(TOOLS)/helm: hack/tools/helm/go.mod
	cd hack/tools/helm && go build -o $(CURDIR)/$@ helm.sh/helm/v4/cmd/helm
$(TOOLS)/prometheus: hack/tools/prometheus/go.mod hack/tools/prometheus/build.sh
	hack/tools/prometheus/build.sh $@
$(TOOLS)/otelcol: hack/tools/otelcol/go.mod hack/tools/otelcol/main.go
	cd hack/tools/otelcol && CGO_ENABLED=0 go build -tags prometheus -ldflags '-s -w' -o $(CURDIR)/$@ .
$(TOOLS)/ghz: hack/tools/ghz/go.mod
	cd hack/tools/ghz && go build -o $(CURDIR)/$@ github.com/bojand/ghz/cmd/ghz
$(TOOLS)/versitygw: hack/tools/s3/go.mod
	cd hack/tools/s3 && go build -o $(CURDIR)/$@ github.com/versity/versitygw/cmd/versitygw
$(TOOLS)/golangci-lint: hack/tools/lint/go.mod
	cd hack/tools/lint && go build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
