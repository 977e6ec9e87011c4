package loadtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
)

// Plans, records and reports are immutable ConfigMaps: made once, never changed, deleted by the
// garbage collector.
//
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create

const (
	// conflictInterval is how often a name that is taken is tried again.
	conflictInterval = 30 * time.Second
	// remainsInterval is the same for what the garbage collector is about to delete.
	remainsInterval = time.Second
)

// syncPlan compiles the spec, or takes the plan that runs. A spec that changes while runners
// are being made leads to another plan; one that changes later to nothing.
func (r *reconciler) syncPlan(ctx context.Context, s *scope) (bool, error) {
	if s.end != nil {
		return true, nil
	}
	if err := r.setAddresses(ctx, s); err != nil {
		return false, err
	}
	if s.startDecided() {
		return true, r.storedPlan(ctx, s)
	}
	compiled, warnings, errs := compile.Compile(s.key().String(), &s.lt.Spec)
	if len(errs) > 0 {
		s.planError = invalid(v1alpha1.ReasonInvalidSpec, strings.Join(compile.ErrorLines(errs), "\n"))
		return true, nil
	}
	compiled.Policy = s.addresses
	if errs, err := r.denied(s, compiled); len(errs) > 0 || err != nil {
		s.planError = invalid(v1alpha1.ReasonDeniedByPolicy, strings.Join(compile.ErrorLines(errs), "\n"))
		return true, err
	}
	canonical, hash, err := plan.Canonical(compiled)
	if err != nil {
		return false, err
	}
	s.plan, s.planHash, s.warnings = compiled, hash, strings.Join(warnings, "\n")
	if !s.hasRecord {
		if err := r.decide(ctx, s, func(*record.Record) error { return nil }); err != nil {
			return false, err
		}
	}
	if s.planStored() {
		return true, nil
	}
	gz, err := plan.Gzip(canonical)
	var large *plan.TooLargeError
	if errors.As(err, &large) {
		s.planError = invalid(v1alpha1.ReasonPlanTooLarge, large.Error())
		return true, nil
	}
	if err != nil {
		return false, err
	}
	cm := desired.Plan(s.lt, hash, gz, s.warnings)
	made, err := r.attempt(ctx, s, "ConfigMap "+cm.Name, func() error { return r.create(ctx, s.lt, cm) })
	return err == nil && (made || s.job == nil), err // without this plan, the Job of an earlier one must not start
}

func invalid(reason, message string) *planError {
	return &planError{reason: reason, message: clip(message, maxMessage), invalid: true}
}

func (s *scope) planStored() bool {
	for _, cm := range s.plans {
		if cm.Name == desired.PlanName(s.lt, s.planHash) {
			return true
		}
	}
	return false
}

// storedPlan reads the plan that the runners execute: the spec can be another one since, and another version of the
// operator can compile it to another plan.
func (r *reconciler) storedPlan(ctx context.Context, s *scope) error {
	name := s.run.Plan.Name
	s.planHash = s.run.Plan.Hash
	cm := &corev1.ConfigMap{}
	for _, have := range s.plans {
		if have.Name == name {
			cm = have
		}
	}
	s.warnings = cm.Data[desired.KeyWarnings]
	c := r.memory.of(s.lt)
	if c.plan == nil || c.planName != name {
		decoded, err := r.decodePlan(ctx, s, name, cm)
		if err != nil {
			return err
		}
		c.plan, c.planName = decoded, name
	}
	s.plan = c.plan
	return nil
}

func (r *reconciler) decodePlan(ctx context.Context, s *scope, name string, cm *corev1.ConfigMap) (*runnerv1alpha1.Plan, error) {
	if cm.Name == "" { // the cache does not have it yet, or a user deleted it
		cm = desired.Plan(s.lt, s.planHash, nil, "")
		cm.Name = name
		if found, err := r.existing(ctx, s.lt, cm); err != nil || !found {
			return recompile(s, errors.Join(err, fmt.Errorf("reading the plan of the run: ConfigMap %s does not exist", name)))
		}
	}
	decoded, err := plan.Decode(cm.BinaryData[desired.KeyPlan])
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s: %w", name, err)
	}
	return decoded, nil
}

// recompile returns the plan of a run whose ConfigMap was deleted. The spec is frozen while a test runs, except for
// the values in the record, so it gives the same plan, as the hash proves. If not, the error stands.
func recompile(s *scope, gone error) (*runnerv1alpha1.Plan, error) {
	compiled := s.asStarted(&s.lt.Spec)
	if compiled == nil {
		return nil, gone
	}
	if _, hash, err := plan.Canonical(compiled); err != nil || hash != s.planHash {
		return nil, errors.Join(gone, err)
	}
	return compiled, nil
}

// asStarted compiles a spec with the rates and the shards that the test started with; nil: it cannot be compiled.
func (s *scope) asStarted(spec *v1alpha1.LoadTestSpec) *runnerv1alpha1.Plan {
	spec = spec.DeepCopy()
	if start := s.run.Start; start != nil {
		spec.Runner.Shards = int32(start.Live.Shards)
	}
	compiled, _, errs := compile.Compile(s.key().String(), spec)
	if len(errs) > 0 {
		return nil
	}
	compiled.Policy = s.addresses
	if start := s.run.Start; start != nil && len(compiled.Rates) == len(start.Live.Rates) {
		compiled.Rates = record.Apply(start.Live.Rates, compiled.Rates)
	}
	return compiled
}

// sameBut returns whether a spec describes the test that started, whatever its rates and shards are.
func (s *scope) sameBut(spec *v1alpha1.LoadTestSpec) (bool, error) {
	compiled := s.asStarted(spec)
	if compiled == nil {
		return false, nil
	}
	_, hash, err := plan.Canonical(compiled)
	return hash == s.run.Plan.Hash, err
}
