package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// LoadTest describes a load on HTTP services and its result. A LoadTest runs once. To run it again, apply it under
// another name, or delete it and apply it again.
//
// While the test runs, you can change only fields that act on the whole load: the rates of stages, runner.shards,
// runner.podDisruptionBudget, suspend, stop, ttlSecondsAfterFinished and ttlSecondsByOutcome. A change of another field
// would mix results of the old and the new spec. After the end the API server accepts all edits again, but they have no
// effect. The message of condition Finished and an event report such an edit.
//
// Runner pods are named after the LoadTest, and a host name has at most 63 characters. The name of a LoadTest
// therefore has at most 50 characters and no dots.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.runner.shards,statuspath=.status.shards.ready,selectorpath=.status.selector
// +kubebuilder:resource:shortName=lt,categories=h2surge
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Shards",type=string,JSONPath=`.status.summary.shards`
// +kubebuilder:printcolumn:name="Rate",type=string,JSONPath=`.status.summary.rate`
// +kubebuilder:printcolumn:name="P50",type=string,JSONPath=`.status.summary.p50`
// +kubebuilder:printcolumn:name="P99",type=string,JSONPath=`.status.summary.p99`
// +kubebuilder:printcolumn:name="Errors",type=string,JSONPath=`.status.summary.errors`
// +kubebuilder:printcolumn:name="Passed",type=string,JSONPath=`.status.conditions[?(@.type=="Passed")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Finished")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Finished")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 50",message="metadata.name must have at most 50 characters"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.')",message="metadata.name must be lower-case letters, digits and -, without dots"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.targets == oldSelf.spec.targets",message="targets cannot change while the test runs",fieldPath=".spec.targets"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.variables == oldSelf.spec.variables",message="variables cannot change while the test runs",fieldPath=".spec.variables"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.templates == oldSelf.spec.templates",message="templates cannot change while the test runs",fieldPath=".spec.templates"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.listeners == oldSelf.spec.listeners",message="listeners cannot change while the test runs",fieldPath=".spec.listeners"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.thresholds == oldSelf.spec.thresholds",message="thresholds cannot change while the test runs",fieldPath=".spec.thresholds"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.observe == oldSelf.spec.observe",message="observe cannot change while the test runs",fieldPath=".spec.observe"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || has(self.spec.otlp) == has(oldSelf.spec.otlp) && (!has(self.spec.otlp) || self.spec.otlp == oldSelf.spec.otlp)",message="otlp cannot change while the test runs",fieldPath=".spec.otlp"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.weightBy == oldSelf.spec.weightBy",message="weightBy cannot change while the test runs",fieldPath=".spec.weightBy"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || has(self.spec.search) == has(oldSelf.spec.search) && (!has(self.spec.search) || self.spec.search == oldSelf.spec.search)",message="search cannot change while the test runs",fieldPath=".spec.search"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.?seed == oldSelf.spec.?seed",message="seed cannot change while the test runs",fieldPath=".spec.seed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || has(self.spec.lock) == has(oldSelf.spec.lock) && (!has(self.spec.lock) || self.spec.lock == oldSelf.spec.lock)",message="lock cannot change while the test runs",fieldPath=".spec.lock"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || has(self.spec.gracefulStop) == has(oldSelf.spec.gracefulStop) && (!has(self.spec.gracefulStop) || self.spec.gracefulStop == oldSelf.spec.gracefulStop)",message="gracefulStop cannot change while the test runs",fieldPath=".spec.gracefulStop"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.?activeDeadlineSeconds == oldSelf.spec.?activeDeadlineSeconds",message="activeDeadlineSeconds cannot change while the test runs",fieldPath=".spec.activeDeadlineSeconds"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.runner.onShardLost == oldSelf.spec.runner.onShardLost",message="onShardLost cannot change while the test runs",fieldPath=".spec.runner.onShardLost"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.runner.idleStrategy == oldSelf.spec.runner.idleStrategy",message="idleStrategy cannot change while the test runs",fieldPath=".spec.runner.idleStrategy"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.runner.?minShards == oldSelf.spec.runner.?minShards",message="minShards cannot change while the test runs",fieldPath=".spec.runner.minShards"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || has(self.spec.runner.startTimeout) == has(oldSelf.spec.runner.startTimeout) && (!has(self.spec.runner.startTimeout) || self.spec.runner.startTimeout == oldSelf.spec.runner.startTimeout)",message="startTimeout cannot change while the test runs",fieldPath=".spec.runner.startTimeout"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || has(self.spec.runner.leaseDuration) == has(oldSelf.spec.runner.leaseDuration) && (!has(self.spec.runner.leaseDuration) || self.spec.runner.leaseDuration == oldSelf.spec.runner.leaseDuration)",message="leaseDuration cannot change while the test runs",fieldPath=".spec.runner.leaseDuration"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || has(self.spec.runner.resultRetention) == has(oldSelf.spec.runner.resultRetention) && (!has(self.spec.runner.resultRetention) || self.spec.runner.resultRetention == oldSelf.spec.runner.resultRetention)",message="resultRetention cannot change while the test runs",fieldPath=".spec.runner.resultRetention"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.runner.?cpusPerShard == oldSelf.spec.runner.?cpusPerShard",message="cpusPerShard cannot change while the test runs",fieldPath=".spec.runner.cpusPerShard"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || has(self.spec.runner.sleepInterval) == has(oldSelf.spec.runner.sleepInterval) && (!has(self.spec.runner.sleepInterval) || self.spec.runner.sleepInterval == oldSelf.spec.runner.sleepInterval)",message="sleepInterval cannot change while the test runs",fieldPath=".spec.runner.sleepInterval"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || has(self.spec.runner.resources) == has(oldSelf.spec.runner.resources) && (!has(self.spec.runner.resources) || self.spec.runner.resources == oldSelf.spec.runner.resources)",message="resources cannot change while the test runs",fieldPath=".spec.runner.resources"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || has(self.spec.runner.podTemplate) == has(oldSelf.spec.runner.podTemplate) && (!has(self.spec.runner.podTemplate) || self.spec.runner.podTemplate == oldSelf.spec.runner.podTemplate)",message="podTemplate cannot change while the test runs",fieldPath=".spec.runner.podTemplate"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() == oldSelf.spec.chains.size() && self.spec.chains.all(i, c, c.name == oldSelf.spec.chains[i].name)",message="chains cannot be added, removed, renamed or reordered while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, c.target == oldSelf.spec.chains[i].target)",message="target of a chain cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, (has(c.phase) ? c.phase : 'Load') == (has(oldSelf.spec.chains[i].phase) ? oldSelf.spec.chains[i].phase : 'Load'))",message="phase of a chain cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, c.?weight.orValue(1) == oldSelf.spec.chains[i].?weight.orValue(1))",message="weight of a chain cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, c.steps == oldSelf.spec.chains[i].steps)",message="steps of a chain cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, has(c.startDelay) == has(oldSelf.spec.chains[i].startDelay) && (!has(c.startDelay) || c.startDelay == oldSelf.spec.chains[i].startDelay))",message="startDelay of a chain cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, c.?maxInFlight == oldSelf.spec.chains[i].?maxInFlight)",message="maxInFlight of a chain cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, has(c.startAfter) == has(oldSelf.spec.chains[i].startAfter) && (!has(c.startAfter) || c.startAfter == oldSelf.spec.chains[i].startAfter))",message="startAfter of a chain cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, c.?cookies.orValue(false) == oldSelf.spec.chains[i].?cookies.orValue(false))",message="cookies of a chain cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, has(c.rates) == has(oldSelf.spec.chains[i].rates) && (!has(c.rates) || (c.rates.size() == oldSelf.spec.chains[i].rates.size() && c.rates.all(j, r, r.name == oldSelf.spec.chains[i].rates[j].name))))",message="stages of a chain cannot be added, removed, renamed or reordered while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, !has(c.rates) || !has(oldSelf.spec.chains[i].rates) || c.rates.size() != oldSelf.spec.chains[i].rates.size() || c.rates.all(j, r, has(r.chainsPerSecond) == has(oldSelf.spec.chains[i].rates[j].chainsPerSecond)))",message="a chain's stage cannot change between chains and requests while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, !has(c.rates) || !has(oldSelf.spec.chains[i].rates) || c.rates.size() != oldSelf.spec.chains[i].rates.size() || c.rates.all(j, r, (has(r.arrivals) ? r.arrivals : 'Even') == (has(oldSelf.spec.chains[i].rates[j].arrivals) ? oldSelf.spec.chains[i].rates[j].arrivals : 'Even')))",message="arrivals of a chain's stage cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, !has(c.rates) || !has(oldSelf.spec.chains[i].rates) || c.rates.size() != oldSelf.spec.chains[i].rates.size() || c.rates.all(j, r, r.?burstSize == oldSelf.spec.chains[i].rates[j].?burstSize))",message="burstSize of a chain's stage cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, !has(c.rates) || !has(oldSelf.spec.chains[i].rates) || c.rates.size() != oldSelf.spec.chains[i].rates.size() || c.rates.all(j, r, has(r.duration) == has(oldSelf.spec.chains[i].rates[j].duration) && (!has(r.duration) || r.duration == oldSelf.spec.chains[i].rates[j].duration)))",message="duration of a chain's stage cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, !has(c.rates) || !has(oldSelf.spec.chains[i].rates) || c.rates.size() != oldSelf.spec.chains[i].rates.size() || c.rates.all(j, r, r.?requests == oldSelf.spec.chains[i].rates[j].?requests))",message="requests of a chain's stage cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.chains.size() != oldSelf.spec.chains.size() || self.spec.chains.all(i, c, !has(c.rates) || !has(oldSelf.spec.chains[i].rates) || c.rates.size() != oldSelf.spec.chains[i].rates.size() || c.rates.all(j, r, r.?warmUp.orValue(false) == oldSelf.spec.chains[i].rates[j].?warmUp.orValue(false)))",message="warmUp of a chain's stage cannot change while the test runs",fieldPath=".spec.chains"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.rates.size() == oldSelf.spec.rates.size() && self.spec.rates.all(i, r, r.name == oldSelf.spec.rates[i].name)",message="stages cannot be added, removed, renamed or reordered while the test runs",fieldPath=".spec.rates"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.rates.size() != oldSelf.spec.rates.size() || self.spec.rates.all(i, r, has(r.closedLoop) == has(oldSelf.spec.rates[i].closedLoop))",message="a stage cannot change between a closedLoop and a rate while the test runs",fieldPath=".spec.rates"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.rates.size() != oldSelf.spec.rates.size() || self.spec.rates.all(i, r, has(r.chainsPerSecond) == has(oldSelf.spec.rates[i].chainsPerSecond))",message="a stage cannot change between chains and requests while the test runs",fieldPath=".spec.rates"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.rates.size() != oldSelf.spec.rates.size() || self.spec.rates.all(i, r, (has(r.arrivals) ? r.arrivals : 'Even') == (has(oldSelf.spec.rates[i].arrivals) ? oldSelf.spec.rates[i].arrivals : 'Even'))",message="arrivals of a stage cannot change while the test runs",fieldPath=".spec.rates"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.rates.size() != oldSelf.spec.rates.size() || self.spec.rates.all(i, r, r.?burstSize == oldSelf.spec.rates[i].?burstSize)",message="burstSize of a stage cannot change while the test runs",fieldPath=".spec.rates"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.rates.size() != oldSelf.spec.rates.size() || self.spec.rates.all(i, r, has(r.duration) == has(oldSelf.spec.rates[i].duration) && (!has(r.duration) || r.duration == oldSelf.spec.rates[i].duration))",message="duration of a stage cannot change while the test runs",fieldPath=".spec.rates"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.rates.size() != oldSelf.spec.rates.size() || self.spec.rates.all(i, r, r.?requests == oldSelf.spec.rates[i].?requests)",message="requests of a stage cannot change while the test runs",fieldPath=".spec.rates"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.rates.size() != oldSelf.spec.rates.size() || self.spec.rates.all(i, r, r.?warmUp.orValue(false) == oldSelf.spec.rates[i].?warmUp.orValue(false))",message="warmUp of a stage cannot change while the test runs",fieldPath=".spec.rates"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.rates.size() != oldSelf.spec.rates.size() || self.spec.rates.all(i, r, !has(r.closedLoop) || !has(r.requests) || !has(oldSelf.spec.rates[i].closedLoop) || r.closedLoop == oldSelf.spec.rates[i].closedLoop)",message="concurrency cannot change while the test runs in a stage that is a closedLoop that ends by requests, because its requests are divided among the shards",fieldPath=".spec.rates"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || has(oldSelf.status.completionTime) || self.spec.runner.shards == oldSelf.spec.runner.shards || !self.spec.rates.exists(r, has(r.closedLoop) && has(r.requests))",message="runner.shards cannot change while the test runs with a stage that is a closedLoop that ends by requests, because its requests are divided among the shards",fieldPath=".spec.runner.shards"
// +kubebuilder:validation:XValidation:rule="(has(oldSelf.status) && has(oldSelf.status.completionTime)) || !has(oldSelf.spec.stop) || !oldSelf.spec.stop || (has(self.spec.stop) && self.spec.stop)",message="stop cannot become false again; apply the test under another name to run it again",fieldPath=".spec.stop"
type LoadTest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the load to apply. While the test runs, only stop, suspend, the rates of stages, runner.shards,
	// runner.podDisruptionBudget, ttlSecondsAfterFinished and ttlSecondsByOutcome can change.
	// +required
	Spec LoadTestSpec `json:"spec"`
	// status is the observed state. Only the operator writes it, and it overwrites changes by other clients.
	// +optional
	Status LoadTestStatus `json:"status,omitzero"`
}

// LoadTestList is a list of load tests.
//
// +kubebuilder:object:root=true
type LoadTestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoadTest `json:"items"`
}

// LoadTestSpec is the load to apply.
//
// The API server checks single fields and objects: bounds, patterns, and that exactly one of several fields is
// set. The operator finds errors that need the complete spec when it compiles the spec, before it creates runners:
// unknown templates, undefined variables, captures that are used before they are set. Condition PlanReady reports
// all of them with the path of each field.
//
// +kubebuilder:validation:XValidation:rule="!has(self.runner) || !has(self.runner.shards) || self.targets.all(t, !has(t.connections) || t.connections >= self.runner.shards)",message="connections must be at least runner.shards, one for each shard",fieldPath=".targets"
// +kubebuilder:validation:XValidation:rule="!has(self.runner) || !has(self.runner.minShards) || self.runner.minShards <= self.runner.shards",message="minShards must be at most runner.shards",fieldPath=".runner.minShards"
// +kubebuilder:validation:XValidation:rule="!has(self.runner) || !has(self.runner.minShards) || self.runner.minShards >= self.runner.shards || !self.rates.exists(r, has(r.closedLoop) && has(r.requests))",message="minShards below runner.shards cannot be used with a stage that is a closedLoop that ends by requests",fieldPath=".runner.minShards"
// +kubebuilder:validation:XValidation:rule="!has(self.runner) || !has(self.runner.onShardLost) || self.runner.onShardLost != 'Rebalance' || !self.rates.exists(r, has(r.closedLoop) && has(r.requests))",message="Rebalance cannot be used with a stage that is a closedLoop that ends by requests",fieldPath=".runner.onShardLost"
// +kubebuilder:validation:XValidation:rule="has(self.search) || self.rates.size() > 0 || self.chains.all(c, (has(c.phase) && c.phase != 'Load') || (has(c.rates) && c.rates.size() > 0))",message="at least 1 is needed, unless each chain of phase Load has rates of its own",fieldPath=".rates"
// +kubebuilder:validation:XValidation:rule="self.rates.size() == 0 || self.chains.exists(c, (!has(c.phase) || c.phase == 'Load') && (!has(c.rates) || c.rates.size() == 0))",message="no chain uses them, because each chain of phase Load has rates of its own",fieldPath=".rates"
// +kubebuilder:validation:XValidation:rule="has(self.search) || self.rates.size() == 0 || self.rates.exists(r, !has(r.warmUp) || !r.warmUp)",message="at least one stage must not be a warm-up",fieldPath=".rates"
// +kubebuilder:validation:XValidation:rule="!has(self.search) || self.rates.all(r, has(r.warmUp) && r.warmUp)",message="all stages must be warm-up stages, because search chooses the rates after them",fieldPath=".rates"
// +kubebuilder:validation:XValidation:rule="!has(self.search) || self.chains.all(c, !has(c.rates) || c.rates.size() == 0)",message="rates of a chain are not allowed with search",fieldPath=".chains"
type LoadTestSpec struct {
	// targets are the services under load. Chains name them. Runners also connect to a target that no chain names,
	// and a warning reports it. Bounds: 1 to 64 targets.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Targets []Target `json:"targets"`
	// variables are sources of values that templates insert as ${name}. Bounds: 64 variables. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:default={}
	// +kubebuilder:validation:MaxItems=64
	Variables []Variable `json:"variables,omitempty"`
	// templates are requests that several steps share. A step names a template, or it has a request of its own.
	// Bounds: 256 templates. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:default={}
	// +kubebuilder:validation:MaxItems=256
	Templates []Template `json:"templates,omitempty"`
	// chains are sequences of requests. Each instance of a chain runs its steps in order and has its own values.
	// Bounds: 1 to 32 chains, and 256 steps in all chains together, because status has an entry for each step.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Chains []Chain `json:"chains"`
	// rates are the stages of the load. Each entry is a stage, and a threshold refers to it with stage. requestsPerSecond
	// counts requests, not chains; chainsPerSecond counts chains.
	// Stages run one after another without a gap. Warm-up stages come first, and at
	// least one stage is not a warm-up stage. With search, all stages are warm-up stages, and rates may be empty. All
	// chains of phase Load use them, except chains with rates of their own. While the test runs, requestsPerSecond,
	// requestsPer, chainsPerSecond, rampFrom and closedLoop.concurrency of the active stage and of later stages can
	// change. A stage that has ended does not change. Default: none; then each chain of phase Load must have rates
	// of its own. Bounds: at most 64 stages, also together with those of all chains.
	// +optional
	// +listType=atomic
	// +kubebuilder:default={}
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(i, r, i == 0 || !has(r.warmUp) || !r.warmUp || (has(self[i-1].warmUp) && self[i-1].warmUp))",message="warm-up stages must come before all others"
	Rates []Rate `json:"rates,omitempty"`
	// thresholds are limits on the result. The test passes if all thresholds pass. The operator compares them
	// with the figures of all shards, at the end and while the test runs. If no threshold is on ErrorRate,
	// the test passes only if the error rate is at most 1% and at least one chain instance was completed. Bounds:
	// 64 thresholds. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:default={}
	// +kubebuilder:validation:MaxItems=64
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// observe are figures of the target, such as its CPU. One runner reads them while the test runs. A read that fails is
	// a gap with its cause, and does not change the load. Bounds: 32 observations. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:default={}
	// +kubebuilder:validation:MaxItems=32
	Observe []Observation `json:"observe,omitempty"`
	// otlp makes each runner send its figures to a receiver of OpenTelemetry metrics, every 5s and at the end. A receiver
	// that is away, slow or refuses does not change the load. Default: none.
	// +optional
	OTLP *OTLP `json:"otlp,omitempty"`
	// search makes the test look for the highest rate at which all thresholds pass. Its probes follow the stages of rates.
	// If no threshold is on ErrorRate, a probe holds only if its error rate is at most 1%. The operator runs a search
	// over all shards, and h2surge search runs it on one machine. Default: no search.
	// +optional
	Search *Search `json:"search,omitempty"`
	// listeners are servers of each runner for the notifications that steps await. Bounds: 8 listeners. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:default={}
	// +kubebuilder:validation:MaxItems=8
	Listeners []Listener `json:"listeners,omitempty"`
	// weightBy is what the weights of chains divide: Chains, the chain instances that start, or Requests, the
	// requests that are sent. With Requests, a chain of four steps starts a quarter as often as a chain of one
	// step with the same weight. A repeated step counts as often as it repeats, and a step with a condition counts
	// as if the condition were always true. Steps also count as if no request failed. Default: Chains.
	// +optional
	// +kubebuilder:default=Chains
	WeightBy WeightBy `json:"weightBy,omitempty"`
	// seed is the start value of everything random: the order of shuffled variables, random values, think times
	// and the choice of the next chain. The same seed, spec and number of shards give the same values. Default: a
	// value computed from the namespace and name of the LoadTest.
	// +optional
	Seed *int64 `json:"seed,omitempty"`
	// runner controls the runner pods: their number, their CPUs, their pod template, and what happens if one is
	// lost. Default: one shard with one worker.
	// +optional
	// +kubebuilder:default={}
	Runner Runner `json:"runner,omitzero"`
	// stop ends the test when it becomes true. The runners send nothing more and wait for the responses in flight.
	// The operator keeps the results so far and marks them as results of a stopped run. You cannot set stop to
	// false again. If stop is true from the beginning, the test ends and sends nothing. Default: false.
	// +optional
	Stop bool `json:"stop,omitempty"`
	// suspend prevents the start of a test: the operator creates no runner pods, and deletes those that exist. In
	// a running test, suspend pauses the load: requests in flight continue, connections stay open, and the active
	// stage ends later by the length of the pause. You can change it at any time. activeDeadlineSeconds continues
	// to count. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// lock is the name of a lock of the namespace. Of the LoadTests of a namespace with the same lock, at most one has
	// runners. The others wait in the order of their creation, with reason WaitingForLock. A test gives up its lock when
	// it has finished and its pods have ended. A suspended test that has not started does not hold a lock. startTimeout
	// and activeDeadlineSeconds do not count while a test waits for its lock. The command line ignores it. Default: no
	// lock.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Lock string `json:"lock,omitempty"`
	// ttlSecondsAfterFinished is the time in seconds from the end of the test until the operator deletes the
	// LoadTest. Its pods and its report are deleted with it. 0 means immediately. You can change it at any time. It has
	// no effect on a LoadTest that Argo CD or Flux manages, because they would create it again and so repeat the load.
	// Default: the LoadTest stays until a user deletes it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// ttlSecondsByOutcome is ttlSecondsAfterFinished for single outcomes of the verdict. It takes precedence over
	// ttlSecondsAfterFinished, which applies to the outcomes without a value. You can change it at any time. Default:
	// none.
	// +optional
	TTLSecondsByOutcome *TTLByOutcome `json:"ttlSecondsByOutcome,omitempty"`
	// gracefulStop is how long chain instances that run at the end of the load may send their remaining steps. The load
	// ends after the last stage, when the test is stopped, and on a runner that leaves. The steps are sent when they are
	// ready. The report counts them as graceful and in no other figure. Teardown chains run after it. Default: 0s; the
	// runner sends no further step after the load. Bounds: at most 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	GracefulStop *Duration `json:"gracefulStop,omitempty"`
	// activeDeadlineSeconds is the time in seconds from when the operator first saw the LoadTest until it ends the
	// test. This includes a test that has not started. The time does not count while a queue such as Kueue suspends the
	// Job of the runners, and while the test waits for its lock: it begins again when the wait ends. The operator keeps
	// what was measured so far, and Succeeded is False with reason DeadlineExceeded. Bounds: 1 to 31536000 (a year).
	// Default: none. Without a deadline, runners stop a minute after the latest possible end of all stages and the drain.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
}

// TTLByOutcome is a time in seconds for each outcome of the verdict.
type TTLByOutcome struct {
	// passed is the time for a test that passed. Default: ttlSecondsAfterFinished.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Passed *int32 `json:"passed,omitempty"`
	// failed is the time for a test that failed a threshold or the default limit on errors. Default:
	// ttlSecondsAfterFinished.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failed *int32 `json:"failed,omitempty"`
	// inconclusive is the time for a test whose result is inconclusive. Default: ttlSecondsAfterFinished.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Inconclusive *int32 `json:"inconclusive,omitempty"`
	// error is the time for a test that could not run to its end. A test with an invalid spec counts. Default:
	// ttlSecondsAfterFinished.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Error *int32 `json:"error,omitempty"`
	// stopped is the time for a test that a user stopped. Default: ttlSecondsAfterFinished.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Stopped *int32 `json:"stopped,omitempty"`
}

// IdleStrategy is what a runner does while it waits for responses and for the next request.
//
// +kubebuilder:validation:Enum=Auto;Spin;Sleep
type IdleStrategy string

const (
	// IdleStrategyAuto is Spin on exclusive CPUs, else Sleep.
	IdleStrategyAuto IdleStrategy = "Auto"
	// IdleStrategySpin polls for responses without sleeping.
	IdleStrategySpin IdleStrategy = "Spin"
	// IdleStrategySleep sleeps, and sends the requests of a sleep interval together.
	IdleStrategySleep IdleStrategy = "Sleep"
)

// ShardLostAction is what the operator does if a shard is lost while the test runs.
//
// +kubebuilder:validation:Enum=Fail;Continue;Rebalance
type ShardLostAction string

const (
	// ShardLostFail ends the test.
	ShardLostFail ShardLostAction = "Fail"
	// ShardLostContinue lets the other shards continue with their own shares.
	ShardLostContinue ShardLostAction = "Continue"
	// ShardLostRebalance distributes the share of the lost shard to the others.
	ShardLostRebalance ShardLostAction = "Rebalance"
)

// PodDisruptionBudget is whether the runners have a PodDisruptionBudget.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type PodDisruptionBudget string

const (
	// PodDisruptionBudgetEnabled protects the runners from evictions while the test runs.
	PodDisruptionBudgetEnabled PodDisruptionBudget = "Enabled"
	// PodDisruptionBudgetDisabled allows evictions.
	PodDisruptionBudgetDisabled PodDisruptionBudget = "Disabled"
)

// WeightBy is what the weights of chains divide.
//
// +kubebuilder:validation:Enum=Chains;Requests
type WeightBy string

const (
	// WeightByChains divides the chain instances that start.
	WeightByChains WeightBy = "Chains"
	// WeightByRequests divides the requests that are sent.
	WeightByRequests WeightBy = "Requests"
)

// Protocol is how a target is spoken to.
//
// +kubebuilder:validation:Enum=Auto;http1;h2;h2c;h3
type Protocol string

const (
	// ProtocolAuto is what the server speaks: what ALPN chooses for https://, and what the runner finds for http://.
	ProtocolAuto Protocol = "Auto"
	// ProtocolHTTP1 is HTTP/1.1 (RFC 9112), over TLS or not.
	ProtocolHTTP1 Protocol = "http1"
	// ProtocolH2 is HTTP/2 over TLS, chosen by ALPN (RFC 9113 3.2).
	ProtocolH2 Protocol = "h2"
	// ProtocolH2C is HTTP/2 over cleartext TCP with prior knowledge (RFC 9113 3.3).
	ProtocolH2C Protocol = "h2c"
	// ProtocolH3 is HTTP/3 over QUIC (RFC 9114).
	ProtocolH3 Protocol = "h3"
)

// FollowAuthority is whether requests follow an absolute URL to another authority.
//
// +kubebuilder:validation:Enum=Never;WithoutCredentials;WithCredentials
type FollowAuthority string

const (
	// FollowNever sends the request to the target.
	FollowNever FollowAuthority = "Never"
	// FollowWithoutCredentials does not send the credentials of the target to the other authority.
	FollowWithoutCredentials FollowAuthority = "WithoutCredentials"
	// FollowWithCredentials sends them.
	FollowWithCredentials FollowAuthority = "WithCredentials"
)

// Target is a server under load: its URL, the protocol and the connections.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.urls)",message="exactly one of url and urls is needed"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || !(has(self.url) ? self.url.startsWith('http:') : has(self.urls) && self.urls.exists(u, u.startsWith('http:')))",message="tls needs an https url",fieldPath=".tls"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || !has(self.tls.alpn) || self.tls.alpn.size() == 0 || !has(self.protocol) || self.protocol == 'Auto'",message="alpn needs protocol Auto; h2 and http1 offer one protocol each",fieldPath=".tls"
// +kubebuilder:validation:XValidation:rule="!has(self.http2) || !has(self.protocol) || self.protocol != 'http1'",message="http2 is not allowed when the target uses only HTTP/1.1",fieldPath=".http2"
// +kubebuilder:validation:XValidation:rule="!has(self.http1) || !has(self.protocol) || !(self.protocol in ['h2', 'h2c'])",message="http1 is not allowed when the target uses only HTTP/2",fieldPath=".http1"
// +kubebuilder:validation:XValidation:rule="!has(self.followAuthority) || self.followAuthority != 'WithCredentials' || has(self.auth) || has(self.clientAssertion)",message="WithCredentials needs auth or clientAssertion",fieldPath=".followAuthority"
type Target struct {
	// name is the name of the target. Chains refer to it. Bounds: at most 50 lower-case letters, digits and -.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// url is the base URL of all requests. It has the scheme http:// or https://, a host name or IP address (IPv6
	// in brackets), an optional port and an optional path. It must not have a user, a query or a fragment. The
	// runner puts the path of the URL before the path of each template, unless that starts with a capture. After
	// the scheme, ${name} inserts a variable that has one value on a runner: env, perShard, constant, or a
	// variable with scope Global. $$ is a dollar sign. Default of the port: 80 or 443. Bounds: at most 2048
	// characters. Set exactly one of url and urls.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// protocol is the protocol of the target. Auto lets the server decide. With https it chooses by ALPN. With http,
	// each runner offers HTTP/2 with prior knowledge on a connection of its own, and uses HTTP/1.1 if the server does
	// not answer with SETTINGS; with sbi, Auto is h2c. With protoFrom, Auto is h2c or, if tls.alpn is not set, h2. http1
	// is HTTP/1.1. h2 is HTTP/2 over TLS and needs https. h2c is HTTP/2 without TLS, with prior knowledge, and needs
	// http. h3 is HTTP/3 over QUIC and needs https. Default: Auto.
	// +optional
	// +kubebuilder:default=Auto
	Protocol Protocol `json:"protocol,omitempty"`
	// connections is the number of connections of all shards together. Each shard gets an exact share: two shards
	// differ by at most one connection. The runner opens all connections before the test starts, unless
	// connecting.open is OnDemand or PerInstance. Default: one for each shard. Bounds: one for each shard to 1000000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Connections *int32 `json:"connections,omitempty"`
	// maxConcurrentStreams is the largest number of requests in flight on one connection. A smaller
	// SETTINGS_MAX_CONCURRENT_STREAMS of the target takes precedence. If no stream is free, a request waits, and
	// the wait is part of its response time. HTTP/1.1 uses http1.pipeline instead. Default: 100. Bounds: 1 to
	// 100000.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxConcurrentStreams int32 `json:"maxConcurrentStreams,omitempty"`
	// tls controls how the runner secures connections. It needs an https url. Default: an empty object; the runner
	// verifies the certificate of the target with the authorities of the system.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
	// auth is the source of the authorization header. The runner adds the header to each request to this target
	// whose template does not set one. Default: the runner adds no header.
	// +optional
	Auth *Auth `json:"auth,omitempty"`
	// urls are the base URLs of a group of servers that share the load. Connection k of the test uses entry k
	// modulo the number of entries. All entries must have the same scheme. A step of a chain can use any
	// connection, so the servers must share their state. Bounds: 1 to 256 entries, each as in url.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	URLs []string `json:"urls,omitempty"`
	// connectTo is the address to which the runner connects in place of the host and port of the URL: host:port,
	// or unix:/path of a socket. Requests still carry the authority of the URL. Default: the host and port of the
	// URL. Bounds: at most 2048 characters, and 107 bytes for the path of a socket.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	ConnectTo string `json:"connectTo,omitempty"`
	// followAltSvc sends the load over HTTP/3 to the alternative service that the target offers (RFC 7838). Before the
	// load, each runner sends HEAD to the URL over HTTP/2 or HTTP/1.1, and connects to the first h3 of the field Alt-Svc
	// in the response. With urls, it sends HEAD to those of its connections, and to another one when a connection fails
	// over to it. The runner does not count this request. If the target offers no h3, the test does not start.
	// followAltSvc needs an https url, protocol Auto or h2, and connecting.open AtStart, and cannot be used with
	// connectTo. Default: false.
	// +optional
	FollowAltSvc bool `json:"followAltSvc,omitempty"`
	// connectionChoice is how a runner chooses the connections of requests that it sends at the same time. Spread
	// uses all connections with a free stream in turn. Batch fills the free streams of one connection first, then
	// those of the next. The next requests begin with another connection, so all connections are used equally
	// often. Batch needs less CPU for each request, because fewer connections wake up at a time. A server with
	// several threads gets another load with Batch, and may answer later. A closed loop uses every free stream,
	// so there Batch only changes the order. Default: Spread.
	// +optional
	// +kubebuilder:default=Spread
	ConnectionChoice ConnectionChoice `json:"connectionChoice,omitempty"`
	// connectTimeout is the timeout for opening one connection. It includes name resolution, the TCP connection,
	// the TLS handshake and the first SETTINGS of the target. Default: 5s. Bounds: greater than 0, at most 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	ConnectTimeout *Duration `json:"connectTimeout,omitempty"`
	// http2 controls HTTP/2 connections. It is not allowed when the target uses only HTTP/1.1. Default: the
	// defaults of its fields.
	// +optional
	HTTP2 *HTTP2 `json:"http2,omitempty"`
	// http1 controls HTTP/1.1 connections. It is not allowed when the target uses only HTTP/2. Default: the
	// defaults of its fields.
	// +optional
	HTTP1 *HTTP1 `json:"http1,omitempty"`
	// connecting controls how the runner opens, closes and replaces connections. Default: the defaults of its
	// fields.
	// +optional
	Connecting *Connecting `json:"connecting,omitempty"`
	// followAuthority is whether requests follow an absolute URL to another authority: Never, WithoutCredentials or
	// WithCredentials. A request follows if its path starts with a capture, such as the location of a response, and the
	// captured value is an absolute URL: the runner connects to the authority of that URL and sends the request there. The
	// scheme must be that of this target. The runner opens as many connections as to this target and uses the same
	// settings. With Never the runner takes the path and query of the URL and sends the request to this target. With
	// WithoutCredentials it does not send auth and clientAssertion to the other authority. With WithCredentials it does,
	// such as to the network functions that an NRF names. A response then decides which server gets the token.
	// WithCredentials needs auth or clientAssertion. Default: Never. Bounds: each worker follows at most 64 authorities.
	// +optional
	// +kubebuilder:default=Never
	FollowAuthority FollowAuthority `json:"followAuthority,omitempty"`
	// sbi makes the runner send the header fields of the Service Based Interface of a 5G core (3GPP TS 29.500). Default:
	// the runner does not add them.
	// +optional
	SBI *SBI `json:"sbi,omitempty"`
	// clientAssertion is the source of the 3gpp-Sbi-Client-Credentials header (3GPP TS 29.500 5.2.3.2.11). The runner adds
	// the header to each request to this target whose template does not set one. Default: the runner adds no header.
	// +optional
	ClientAssertion *ClientAssertion `json:"clientAssertion,omitempty"`
	// protoFrom are the proto files of the target. The name of a file ends with .proto, or it is a set of descriptors as
	// protoc --include_imports --descriptor_set_out writes it. An import is the file whose path ends with it, or else
	// whose name is its last element; imports of google/protobuf, and common ones of google/api and google/rpc, need no
	// file. Steps with grpc need them. Protocol Auto is then h2c or h2. Default: none. Bounds: 16 sources.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ProtoFrom []ContentSource `json:"protoFrom,omitempty"`
}

// Rate is a stage of the load. Set exactly one mode (requestsPerSecond, requestsPer, chainsPerSecond or closedLoop)
// and at least one bound (duration or requests). With both bounds, the stage ends when it reaches the first of them.
//
// +kubebuilder:validation:XValidation:rule="[has(self.requestsPerSecond), has(self.requestsPer), has(self.chainsPerSecond), has(self.closedLoop)].filter(x, x).size() == 1",message="exactly one of requestsPerSecond, requestsPer, chainsPerSecond and closedLoop is needed"
// +kubebuilder:validation:XValidation:rule="!has(self.chainsPerSecond) || !has(self.requests)",message="requests is not allowed with chainsPerSecond; set duration",fieldPath=".requests"
// +kubebuilder:validation:XValidation:rule="has(self.duration) || has(self.requests)",message="duration, requests or both are needed"
// +kubebuilder:validation:XValidation:rule="!has(self.rampFrom) || !has(self.closedLoop) || has(self.closedLoop.concurrency)",message="rampFrom with closedLoop needs concurrency",fieldPath=".rampFrom"
// +kubebuilder:validation:XValidation:rule="!has(self.rampFrom) || has(self.duration)",message="rampFrom needs duration",fieldPath=".rampFrom"
// +kubebuilder:validation:XValidation:rule="has(self.duration) || ((!has(self.requestsPerSecond) || self.requestsPerSecond > 0) && (!has(self.requestsPer) || self.requestsPer.count > 0) && (!has(self.chainsPerSecond) || self.chainsPerSecond > 0))",message="a rate of 0 needs duration"
// +kubebuilder:validation:XValidation:rule="!has(self.closedLoop) || !has(self.arrivals) || self.arrivals == 'Even'",message="arrivals is not allowed with closedLoop",fieldPath=".arrivals"
// +kubebuilder:validation:XValidation:rule="(has(self.arrivals) && self.arrivals == 'Burst') == has(self.burstSize)",message="burstSize is needed with arrivals Burst, and not allowed without it",fieldPath=".burstSize"
type Rate struct {
	// name is the name of the stage in results. It must be unique among the stages. Bounds: at most 50 lower-case
	// letters, digits and -.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// requestsPerSecond is the arrival rate of requests, in requests per second over all shards. It counts
	// requests, not chains: each step of a chain counts. The scheduled times of requests do not depend on earlier
	// responses (open loop). Response times start at the scheduled time. 0 is a pause. Bounds: 0 to 100000000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000000
	RequestsPerSecond *int64 `json:"requestsPerSecond,omitempty"`
	// chainsPerSecond is the arrival rate of chain instances, in instances per second over all shards. The scheduled
	// times of instances do not depend on earlier responses. The first step of an instance is scheduled when the
	// instance starts. Each later step is scheduled when it is ready: when the step before it has
	// ended and its think time has passed. The number of requests per second follows from the steps of the chains.
	// An instance that has not ended when the stage ends continues by the mode of the next stage. 0 is a pause.
	// Bounds: 0 to 100000000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000000
	ChainsPerSecond *int64 `json:"chainsPerSecond,omitempty"`
	// closedLoop makes the stage a closed loop: the runner sends the next request when an earlier one has ended. {}
	// sends a request whenever a stream is free: up to connections times maxConcurrentStreams requests are in
	// flight. A slow target gets fewer requests, so a response time of a closed loop is shorter than the one that a
	// user of a loaded target sees.
	// +optional
	ClosedLoop *ClosedLoop `json:"closedLoop,omitempty"`
	// requestsPer is an arrival rate as a count and a period. Use it for rates below one request per second, and
	// for rates that are not whole numbers.
	// +optional
	RequestsPer *RequestsPer `json:"requestsPer,omitempty"`
	// duration is the length of the stage. Default: no limit; then requests must be set. Bounds: greater than 0,
	// at most 720h (30 days).
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('720h')",message="must be greater than 0 and at most 720h"
	Duration *Duration `json:"duration,omitempty"`
	// requests is the number of requests of the stage over all shards. Each step, retry and redirect is a request.
	// Default: no limit; then duration must be set. Bounds: 1 to 10^12.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000
	Requests *int64 `json:"requests,omitempty"`
	// rampFrom is the rate at the start of the stage, in the unit of the mode: requests per second, requests in each
	// period, chain instances per second, or requests in flight. The rate changes linearly from rampFrom to the rate of
	// the mode over duration, which must be set. It can be above the rate of the mode. 0 is a standstill. If it changes
	// while the stage is active, the rate is the one that the stage would have if it had started with the new value.
	// Default: the rate is constant. With closedLoop it needs concurrency. Bounds: 0 to 100000000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000000
	RampFrom *int64 `json:"rampFrom,omitempty"`
	// warmUp makes the stage a warm-up. Results count its requests in warmUpSent only. Warm-up stages must be
	// before all other stages. Default: false.
	// +optional
	WarmUp bool `json:"warmUp,omitempty"`
	// arrivals controls the spacing of the scheduled times. Even: equal intervals. Poisson: random intervals, as of
	// users who do not know of each other. The intervals are independent and exponentially distributed, and follow
	// from seed. Burst: burstSize requests, or chain instances, at the same time, and the bursts at equal intervals.
	// All shards together have these arrivals. Only Even is allowed with closedLoop. Default: Even.
	// +optional
	// +kubebuilder:default=Even
	Arrivals Arrivals `json:"arrivals,omitempty"`
	// burstSize is the number of requests, or chain instances, of a burst over all shards. Required with arrivals
	// Burst, and not allowed without it. Bounds: 1 to 1000000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	BurstSize *int64 `json:"burstSize,omitempty"`
}

// EndsByCount reports whether the stage ends on each shard when the shard has sent its share. The slots of such a
// stage have no scheduled times, so its remaining slots cannot be distributed again.
func (r *Rate) EndsByCount() bool { return r.ClosedLoop != nil && r.Requests != nil }

// Arrivals is the spacing of scheduled times.
//
// +kubebuilder:validation:Enum=Even;Poisson;Burst
type Arrivals string

// The values of Arrivals.
const (
	// ArrivalsEven have equal intervals.
	ArrivalsEven Arrivals = "Even"
	// ArrivalsPoisson have independent, exponentially distributed intervals.
	ArrivalsPoisson Arrivals = "Poisson"
	// ArrivalsBurst come in bursts at equal intervals.
	ArrivalsBurst Arrivals = "Burst"
)

// ClosedLoop is the mode in which requests wait for earlier requests and not for scheduled times.
type ClosedLoop struct {
	// concurrency is the highest number of requests in flight, over all targets and shards. Requests are counted and
	// not chain instances: an instance that waits for a think time does not count. A request that waits for a free
	// stream counts. While the test runs, you can change it unless the stage has requests. Default: the number of all
	// streams. Bounds: 1 to 1000000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Concurrency *int64 `json:"concurrency,omitempty"`
}

// RequestsPer is an arrival rate as a count and a period: {count: 1, period: 1m} is one request per minute.
type RequestsPer struct {
	// count is the number of requests in each period, over all shards. 0 is a pause. Bounds: 0 to 100000000.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000000
	Count int64 `json:"count"`
	// period is the length of a period. Bounds: 1s to 24h.
	// +required
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be at least 1s and at most 24h"
	Period Duration `json:"period"`
}

// ThresholdMetric is the figure that a threshold limits.
//
// +kubebuilder:validation:Enum=ResponseTime;ServiceTime;TimeToFirstByte;Lag;NameResolution;TCPConnect;TLSHandshake;Settings;Connect;Reconnecting;Blocked;Body;ErrorRate;Rate;Responses;Succeeded;Failed;FailedChecks;TimedOut;Reset;ConnectionLost;Dropped;Retried;Reconnects;ChainsCompleted;ChainsAborted;NotificationTime;NotificationErrorRate;NotificationsInTime;NotificationsMissing;NotificationsLate;NotificationsDuplicate;NotificationsUnexpected;Observed
type ThresholdMetric string

// The values of ThresholdMetric.
const (
	// MetricResponseTime is from due to done.
	MetricResponseTime ThresholdMetric = "ResponseTime"
	// MetricServiceTime is from sent to done.
	MetricServiceTime ThresholdMetric = "ServiceTime"
	// MetricTimeToFirstByte is from sent to the response's headers.
	MetricTimeToFirstByte ThresholdMetric = "TimeToFirstByte"
	// MetricLag is from due until the runner picked the slot up.
	MetricLag ThresholdMetric = "Lag"
	// MetricNameResolution is how long it took to resolve the host name of a connection.
	MetricNameResolution ThresholdMetric = "NameResolution"
	// MetricTCPConnect is the time until the target accepted a TCP connection.
	MetricTCPConnect ThresholdMetric = "TCPConnect"
	// MetricTLSHandshake is the length of the TLS handshake of a connection.
	MetricTLSHandshake ThresholdMetric = "TLSHandshake"
	// MetricSettings is the time from an open HTTP/2 connection to the SETTINGS of the target.
	MetricSettings ThresholdMetric = "Settings"
	// MetricConnect is the time until a connection was open.
	MetricConnect ThresholdMetric = "Connect"
	// MetricReconnecting is the time that a request waited because its connection was not open.
	MetricReconnecting ThresholdMetric = "Reconnecting"
	// MetricBlocked is the time that a request waited for a free stream.
	MetricBlocked ThresholdMetric = "Blocked"
	// MetricBody is from the response's headers to its end.
	MetricBody ThresholdMetric = "Body"
	// MetricErrorRate is 1 - succeeded / (sent + dropped), as a percentage.
	MetricErrorRate ThresholdMetric = "ErrorRate"
	// MetricRate is the number of requests sent in a second, over the measured stages without the drain.
	MetricRate ThresholdMetric = "Rate"
	// MetricResponses counts responses.
	MetricResponses ThresholdMetric = "Responses"
	// MetricSucceeded counts requests that succeeded.
	MetricSucceeded ThresholdMetric = "Succeeded"
	// MetricFailed counts requests that did not succeed, and dropped requests.
	MetricFailed ThresholdMetric = "Failed"
	// MetricFailedChecks counts responses that failed a check.
	MetricFailedChecks ThresholdMetric = "FailedChecks"
	// MetricTimedOut counts requests that timed out.
	MetricTimedOut ThresholdMetric = "TimedOut"
	// MetricReset counts requests that the target reset.
	MetricReset ThresholdMetric = "Reset"
	// MetricConnectionLost counts requests whose connection was lost.
	MetricConnectionLost ThresholdMetric = "ConnectionLost"
	// MetricDropped counts requests that were never sent.
	MetricDropped ThresholdMetric = "Dropped"
	// MetricRetried counts requests that were sent again because the target had not processed them.
	MetricRetried ThresholdMetric = "Retried"
	// MetricReconnects counts connections that replaced a lost one.
	MetricReconnects ThresholdMetric = "Reconnects"
	// MetricChainsCompleted counts chain instances that were completed.
	MetricChainsCompleted ThresholdMetric = "ChainsCompleted"
	// MetricChainsAborted counts chain instances that were aborted.
	MetricChainsAborted ThresholdMetric = "ChainsAborted"
	// MetricNotificationTime is from sending the request before a step with await to its notification.
	MetricNotificationTime ThresholdMetric = "NotificationTime"
	// MetricNotificationErrorRate is the share of the steps with await that did not receive a notification that passed its
	// checks.
	MetricNotificationErrorRate ThresholdMetric = "NotificationErrorRate"
	// MetricNotificationsInTime counts notifications that a step awaited and received.
	MetricNotificationsInTime ThresholdMetric = "NotificationsInTime"
	// MetricNotificationsMissing counts steps that did not receive their notification within their timeout.
	MetricNotificationsMissing ThresholdMetric = "NotificationsMissing"
	// MetricNotificationsLate counts notifications that came after the timeout of their step.
	MetricNotificationsLate ThresholdMetric = "NotificationsLate"
	// MetricNotificationsDuplicate counts notifications that came again.
	MetricNotificationsDuplicate ThresholdMetric = "NotificationsDuplicate"
	// MetricNotificationsUnexpected counts notifications that no step awaited.
	MetricNotificationsUnexpected ThresholdMetric = "NotificationsUnexpected"
	// MetricObserved is the mean of the samples of an observation.
	MetricObserved ThresholdMetric = "Observed"
)

// StatusClass is the class of a status code.
//
// +kubebuilder:validation:Enum="1xx";"2xx";"3xx";"4xx";"5xx"
type StatusClass string

// Threshold is a limit on one figure of the result. It has a max, a min, or a baseline with maxIncrease, and a
// percentile if the metric is a time.
//
// +kubebuilder:validation:XValidation:rule="[has(self.max), has(self.min), has(self.maxIncrease)].filter(x, x).size() == 1",message="exactly one of max, min and maxIncrease is needed"
// +kubebuilder:validation:XValidation:rule="has(self.baseline) == has(self.maxIncrease)",message="baseline and maxIncrease are allowed together only"
// +kubebuilder:validation:XValidation:rule="!has(self.baseline) || self.metric in ['ResponseTime', 'ErrorRate', 'Rate', 'ChainsAborted', 'NotificationTime', 'NotificationErrorRate']",message="baseline is allowed with ResponseTime, ErrorRate, Rate, ChainsAborted, NotificationTime and NotificationErrorRate only"
// +kubebuilder:validation:XValidation:rule="!has(self.baseline) || !(has(self.target) || has(self.chain) || has(self.statusClass) || has(self.stage) || has(self.window) || (has(self.abortOnFail) && self.abortOnFail) || (has(self.step) && self.metric == 'Rate'))",message="target, chain, statusClass, stage, window, abortOnFail, and step with Rate are not allowed with baseline"
// +kubebuilder:validation:XValidation:rule="!has(self.baseline) || !has(self.percentile) || self.percentile in ['p50', 'p90', 'p99'] || (self.percentile in ['p95', 'p99.9'] && self.metric == 'ResponseTime' && !has(self.step))",message="percentile with baseline must be p50, p90 or p99, or for ResponseTime of the whole run p95 or p99.9"
// +kubebuilder:validation:XValidation:rule="!has(self.baseline) || !self.metric.startsWith('Notification') || has(self.listener)",message="baseline needs listener with NotificationTime and NotificationErrorRate"
// +kubebuilder:validation:XValidation:rule="has(self.percentile) == (self.metric in ['ResponseTime', 'ServiceTime', 'TimeToFirstByte', 'Lag', 'NameResolution', 'TCPConnect', 'TLSHandshake', 'Settings', 'Connect', 'Reconnecting', 'Blocked', 'Body', 'NotificationTime'])",message="percentile is needed with times such as ResponseTime and Connect, and is not allowed with other metrics"
// +kubebuilder:validation:XValidation:rule="!has(self.percentile) || [has(self.max) ? self.max : has(self.min) ? self.min : 's'].all(v, type(v) == string && !v.endsWith('/s') && (v.endsWith('s') || v.endsWith('m') || v.endsWith('h')))",message="max and min of a time must be a duration such as 20ms"
// +kubebuilder:validation:XValidation:rule="!(self.metric in ['ErrorRate', 'NotificationErrorRate']) || [has(self.max) ? self.max : has(self.min) ? self.min : '%'].all(v, type(v) == string && v.endsWith('%'))",message="max and min of an error rate must be a percentage such as 0.1%"
// +kubebuilder:validation:XValidation:rule="!(self.metric in ['Rate', 'Observed']) || [has(self.max) ? self.max : has(self.min) ? self.min : 0].all(v, (type(v) == int && v >= 0 && v <= 2147483647) || (type(v) == string && !v.endsWith('%') && !v.endsWith('s') && !v.endsWith('m') && !v.endsWith('h')))",message="max and min of Rate and Observed must be a number such as 1000"
// +kubebuilder:validation:XValidation:rule="has(self.percentile) || [has(self.max) ? self.max : has(self.min) ? self.min : 0].all(v, (type(v) == int && v >= 0 && v <= 2147483647) || (type(v) == string && !v.endsWith('m') && !v.endsWith('h') && (!v.endsWith('s') || v.endsWith('/s'))))",message="max and min of a count must be a number such as 10, a percentage such as 0.1%, or a rate such as 5/s"
// +kubebuilder:validation:XValidation:rule="(has(self.target) ? 1 : 0) + (has(self.chain) ? 1 : 0) + (has(self.step) ? 1 : 0) <= 1",message="at most one of target, chain and step is allowed"
// +kubebuilder:validation:XValidation:rule="!has(self.stage) || !has(self.window)",message="at most one of stage and window is allowed"
// +kubebuilder:validation:XValidation:rule="!has(self.target) || !(self.metric in ['Observed', 'Lag', 'Dropped', 'Retried', 'Reconnects', 'ChainsCompleted', 'ChainsAborted'])",message="target is not allowed with Observed, Lag, Dropped, Retried, Reconnects, ChainsCompleted and ChainsAborted"
// +kubebuilder:validation:XValidation:rule="!(has(self.chain) || has(self.step)) || !(self.metric in ['Observed', 'Lag', 'Dropped', 'Retried', 'Reconnects', 'ChainsCompleted', 'ChainsAborted', 'NameResolution', 'TCPConnect', 'TLSHandshake', 'Settings', 'Connect', 'Reconnecting', 'Blocked', 'Body'])",message="chain and step are not allowed with Observed, Lag, Dropped, Retried, Reconnects, ChainsCompleted, ChainsAborted, and the times that only targets have"
// +kubebuilder:validation:XValidation:rule="!has(self.stage) || !(self.metric in ['Lag', 'Retried', 'Reconnects', 'ChainsCompleted', 'ChainsAborted', 'NameResolution', 'TCPConnect', 'TLSHandshake', 'Settings', 'Connect', 'Reconnecting', 'Blocked', 'Body'])",message="stage is not allowed with Lag, Retried, Reconnects, ChainsCompleted, ChainsAborted, and the times that only targets have"
// +kubebuilder:validation:XValidation:rule="has(self.observation) == (self.metric == 'Observed')",message="observation and metric Observed go together"
// +kubebuilder:validation:XValidation:rule="!has(self.perUnit) || !self.perUnit || self.metric == 'Observed'",message="perUnit is allowed with Observed only"
// +kubebuilder:validation:XValidation:rule="!has(self.statusClass) || self.metric in ['ResponseTime', 'ServiceTime', 'TimeToFirstByte', 'Responses']",message="statusClass is allowed with ResponseTime, ServiceTime, TimeToFirstByte and Responses only"
// +kubebuilder:validation:XValidation:rule="!has(self.listener) || self.metric.startsWith('Notification')",message="listener is allowed with NotificationTime, NotificationErrorRate and counts of notifications only"
// +kubebuilder:validation:XValidation:rule="!(has(self.target) || has(self.chain) || has(self.step) || has(self.stage)) || !self.metric.startsWith('Notification')",message="target, chain, step and stage are not allowed with figures of notifications; use listener"
// +kubebuilder:validation:XValidation:rule="!has(self.abortAfter) || (has(self.abortOnFail) && self.abortOnFail)",message="abortAfter needs abortOnFail: true"
type Threshold struct {
	// name is the threshold's name in results. It has at most 50 lower-case letters, digits and -.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// metric is the figure that the threshold limits: a time, a count, or a rate. The times are ResponseTime
	// (from due to done), ServiceTime (from sent to done), TimeToFirstByte (from sent to the response's headers),
	// and Lag (from due until the runner picked the slot up). Times that the runner keeps for each target are those
	// of opening a connection, NameResolution, TCPConnect, TLSHandshake, Settings (until the SETTINGS of an HTTP/2
	// target arrive) and Connect (all but Settings), and those of a request, Reconnecting (how long it waited for
	// its connection), Blocked (how long it waited for a stream) and Body (from the response's headers to its end).
	// ErrorRate is 1 - succeeded / (sent + dropped). Rate is the
	// number of requests sent in a second over the measured stages, without the drain. The counts of requests are
	// Responses, Succeeded, Failed, FailedChecks, TimedOut, Reset, ConnectionLost, Dropped and Retried. Reconnects
	// counts connections that replaced a lost one. ChainsCompleted and ChainsAborted count chain instances.
	// NotificationTime is from sending the request before a step with await to its notification; a missing one counts
	// as longer than every time. NotificationErrorRate is the share of these steps that did not receive a
	// notification that passed its checks. The counts of notifications are NotificationsInTime and
	// NotificationsMissing, and NotificationsLate, NotificationsDuplicate and NotificationsUnexpected, which include
	// those of warm-up stages. Observed is the mean of the samples of an observation, of the series for which it is
	// highest with max, and lowest with min. Without samples, the verdict is Inconclusive.
	// +required
	Metric ThresholdMetric `json:"metric"`
	// percentile is the percentile of a time: p99.9 is the time that 99.9% of the requests do not exceed, and
	// p100 is the longest time. It is above p0 and at most p100. The times need it; other metrics refuse it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^p(100(\.0+)?|[1-9][0-9]?(\.[0-9]+)?|0\.[0-9]*[1-9][0-9]*)$`
	Percentile string `json:"percentile,omitempty"`
	// max is the greatest value that passes: a duration such as 20ms for a time, a percentage such as 0.1% and
	// at most 100% for ErrorRate and NotificationErrorRate, a number such as 1000 for Rate. For a count, a number such as
	// 10 is a count, a percentage is the share of the requests that were sent or dropped, of the chain instances that
	// ended, of the steps that awaited a notification, or of the notifications that came (late, duplicate and unexpected
	// ones), and
	// 5/s is the number in a second. It is not negative. A number with decimals needs quotes: "0.5".
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]{1,12}(\.[0-9]{1,9})?(/s)?|(100(\.0{1,9})?|[0-9]{1,2}(\.[0-9]{1,9})?)%|([0-9]{1,12}(ns|us|\x{b5}s|ms|s|m|h)){1,6})$`
	Max *intstr.IntOrString `json:"max,omitempty"`
	// min is the smallest value that passes. It is written as max is.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]{1,12}(\.[0-9]{1,9})?(/s)?|(100(\.0{1,9})?|[0-9]{1,2}(\.[0-9]{1,9})?)%|([0-9]{1,12}(ns|us|\x{b5}s|ms|s|m|h)){1,6})$`
	Min *intstr.IntOrString `json:"min,omitempty"`
	// maxIncrease is how much worse than in the baseline the figure may be, as a percentage. For a time it is the increase
	// in percent of the time of the baseline, for ErrorRate, NotificationErrorRate and ChainsAborted the increase in
	// percentage points. For Rate it is the decrease in percent. The rules are those of h2surge compare. Bounds: 0% to
	// 9999%.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]{1,4}(\.[0-9]{1,9})?%$`
	MaxIncrease string `json:"maxIncrease,omitempty"`
	// baseline is the earlier run that the figure is compared with.
	// +optional
	Baseline *Baseline `json:"baseline,omitempty"`
	// target limits the figure of the requests of the steps of this target. It is the name of a target. Lag, and
	// counts that the runner does not keep for each target, refuse it. Default: all targets.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Target string `json:"target,omitempty"`
	// chain limits the figure of the requests of this chain. It is the name of a chain without phase Setup or
	// Teardown. Default: all chains.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Chain string `json:"chain,omitempty"`
	// step limits the figure of the requests of one step. It is the name of a chain and the name of a step of the
	// chain: app-session/create. Default: all steps.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=101
	// +kubebuilder:validation:Pattern=`^[^/]+/[^/]+$`
	Step string `json:"step,omitempty"`
	// statusClass limits the figure of the responses with a status code of this class: 1xx, 2xx, 3xx, 4xx or 5xx.
	// It is allowed with ResponseTime, ServiceTime, TimeToFirstByte and Responses. Default: all responses.
	// +optional
	StatusClass StatusClass `json:"statusClass,omitempty"`
	// stage limits the figure of one stage: of the requests whose slot is in the stage, also if the response
	// arrives in a later stage. It is the name of an entry of rates without warmUp. Default: all measured stages together.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Stage string `json:"stage,omitempty"`
	// observation is the name of the observation of Observed.
	// +optional
	// +kubebuilder:validation:MaxLength=50
	Observation string `json:"observation,omitempty"`
	// perUnit limits the succeeded requests per second for each unit of the observation, such as requests per core. They
	// are divided by the sum of the means of all series of the observation in the same period.
	// +optional
	PerUnit bool `json:"perUnit,omitempty"`
	// listener limits the figure of the notifications of this listener. It is the name of a listener. It is allowed
	// with the figures of notifications. Default: all listeners.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Listener string `json:"listener,omitempty"`
	// window limits the figure of each period of this length while the test runs, and the observed value is the
	// worst of them. The operator reads the figures about once a second, so a window begins and ends at such a
	// read; a window of more than a minute moves in steps of a sixtieth of its length. Windows contain no warm-up
	// and no pause. The last one includes the responses and failures after the load. Bounds: 1s to 24h. Default: the
	// whole run is one period.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be from 1s to 24h"
	Window *Duration `json:"window,omitempty"`
	// abortOnFail ends the test as soon as the threshold fails while the test runs. The results so far are kept,
	// and the test has failed. A min of a count over the run or a stage refuses it, because such a count is known
	// at the end only. Default: false.
	// +optional
	AbortOnFail bool `json:"abortOnFail,omitempty"`
	// abortAfter is the time from the start of the first measured stage, or of stage, in which the threshold
	// does not end the test. Without it, the first few requests could end a test. Bounds: 0s to 24h. Default: 10s
	// if abortOnFail is true.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="must be from 0s to 24h"
	AbortAfter *Duration `json:"abortAfter,omitempty"`
}

// Runner controls the runner pods, which send the load.
//
// +kubebuilder:validation:XValidation:rule="!has(self.cpusPerShard) || !has(self.resources) || !((has(self.resources.requests) && 'cpu' in self.resources.requests) || (has(self.resources.limits) && 'cpu' in self.resources.limits))",message="resources must not set cpu when cpusPerShard is set, because cpusPerShard sets the request and the limit",fieldPath=".resources"
type Runner struct {
	// shards is the number of runner pods. Each pod gets an exact share of rates, connections and variables. You
	// can change it while the test runs, also with kubectl scale: the operator adds pods or removes the last ones,
	// and distributes the load again over all pods at the same time. A new runner gets a share when it is ready. A
	// runner that leaves waits for its responses first, and the operator keeps its counts. You cannot change it if
	// a stage is a closedLoop that ends by requests. Bounds: 1 to 256. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Shards int32 `json:"shards,omitempty"`
	// minShards is the number of ready shards with which the test starts when startTimeout has passed. Shards that
	// become ready later join. If fewer shards remain while the test runs, the test ends as with onShardLost Fail.
	// Bounds: 1 to shards. Default: the test starts only if all shards are ready, and onShardLost alone controls
	// what happens if a shard is lost.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	MinShards *int32 `json:"minShards,omitempty"`
	// startTimeout is the time within which all shards must become ready, counted from the creation of their Job.
	// The operator adds the longest ramp of connections and the time of the setup chains. After startTimeout the
	// test starts with at least minShards shards, or ends with condition Succeeded False. While a queue such as
	// Kueue suspends the Job, the time does not count. Bounds: 1s to 24h. Default: the operator's configuration,
	// 10m until the pods run and 2m until they are ready.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be from 1s to 24h"
	StartTimeout *Duration `json:"startTimeout,omitempty"`
	// onShardLost controls what happens if a runner is lost while the test runs. Fail ends the test: the other
	// runners wait for their responses, and the operator keeps the results so far. Continue lets the others
	// continue with their own shares. Rebalance distributes the share of the lost runner over the others, so that
	// the rate is complete again. After Continue and Rebalance the result is marked partial and Passed is not
	// True, because what the lost runner did after its last snapshot is unknown. Rebalance cannot be used with a
	// stage that is a closedLoop that ends by requests. Default: Fail.
	// +optional
	// +kubebuilder:default=Fail
	OnShardLost ShardLostAction `json:"onShardLost,omitempty"`
	// leaseDuration is the time for which a runner sends requests after it last heard from the operator. The
	// operator renews the lease each time it asks a runner for its figures, unless it has not reached the API server
	// for 10s: another operator may have replaced it. A runner whose lease expired sends nothing until the operator
	// reaches it again. It drops the requests that become due in between, and Passed is not True. The operator gives
	// the share of a runner that it cannot reach to the others only after the lease expired or the kubelet reported
	// the end of the container, so a request is never sent twice. Choose a time that is longer than a restart of the
	// operator takes. It has an effect only if onShardLost is Rebalance: with Fail and Continue a runner does not need
	// the operator. Bounds: 10s to 1h. Default: 1m.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('1h')",message="must be from 10s to 1h"
	LeaseDuration *Duration `json:"leaseDuration,omitempty"`
	// resultRetention is the time for which a runner keeps its final figures after its load ended, until the
	// operator has stored them. If the operator is present, that takes seconds. While the runner waits, its pod
	// continues to run and keeps its CPUs, its memory and its share of quotas. If the pod is evicted or deleted, the
	// runner waits for at most 10s. After resultRetention the runner exits, and the operator uses the last
	// checkpoint of its figures. A runner with teardown chains waits for as long at most until the operator begins
	// teardown. Bounds: 10s to 24h. Default: 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="must be from 10s to 24h"
	ResultRetention *Duration `json:"resultRetention,omitempty"`
	// podDisruptionBudget controls whether the operator creates a PodDisruptionBudget for the runners while the test
	// runs. With Enabled, the API server refuses to evict a runner, so kubectl drain waits until the test has ended.
	// With Disabled, a drain evicts runners, and onShardLost controls what happens then. You can change it while the
	// test runs. Default: Enabled.
	// +optional
	// +kubebuilder:default=Enabled
	PodDisruptionBudget PodDisruptionBudget `json:"podDisruptionBudget,omitempty"`
	// cpusPerShard is the number of whole CPUs of a runner pod. The pod is Guaranteed and has one pinned worker
	// for each CPU. If the CPU manager policy of the node is static, no other container uses these CPUs. The
	// runner verifies that, and status reports it. Bounds: 1 to 256. Default: one worker, a small CPU request, no
	// exclusive CPUs.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	CPUsPerShard *int32 `json:"cpusPerShard,omitempty"`
	// idleStrategy is what a runner does while it waits for responses and for the next request. Spin polls without
	// sleeping and sends each request at its scheduled time. A runner that sends load then uses its CPUs completely, also
	// at a low rate. Sleep uses less CPU time: the runner sends the requests of a sleepInterval together, which delays
	// each of them by up to sleepInterval. Auto is Spin if cpusPerShard is set and the runner has verified that its CPUs
	// are exclusive, else Sleep. Default: Auto.
	// +optional
	// +kubebuilder:default=Auto
	IdleStrategy IdleStrategy `json:"idleStrategy,omitempty"`
	// sleepInterval is how long a runner that sleeps collects requests before it sends them together. A longer interval
	// uses less CPU time and makes response times longer. It is also the longest time for which a closedLoop stage
	// lets responses gather; that is at most 1/32 of the average service time. It has no effect if the runner spins.
	// Bounds: 10us to 10ms. Default: 500us.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10us') && duration(self) <= duration('10ms')",message="must be from 10us to 10ms"
	SleepInterval *Duration `json:"sleepInterval,omitempty"`
	// resources are the compute resources of the container runner, in the form of a Kubernetes
	// container. Without cpusPerShard they replace the resources of the operator's configuration. With
	// cpusPerShard they must not have cpu, and memory is both request and limit. Default: the
	// operator's configuration.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// podTemplate is any part of a Kubernetes PodTemplateSpec. The operator merges it into the runner
	// pods: node selectors, tolerations, labels, sidecars. Its container named runner is merged with
	// the runner's own container. docs/reference/loadtest/runner.md lists the fields that the operator overrides.
	// Condition PlanReady reports unknown fields. Default: nothing is merged.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	PodTemplate *runtime.RawExtension `json:"podTemplate,omitempty"`
}
