package loadtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
)

// Plans and reports are immutable ConfigMaps: made once, never changed, deleted by the garbage collector.
//
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create

const (
	// conflictInterval is how often a name that is taken is tried again.
	conflictInterval = 30 * time.Second
	// remainsInterval is the same for what the garbage collector is about to delete.
	remainsInterval = time.Second
)

// compiled compiles the spec. A spec that changes while runners are being made leads to another plan; one that changes
// later to nothing. The runners of an invalid spec cannot start any more.
func (r *reconciler) compiled(ctx context.Context, f *run.Facts) (*run.Blocker, error) {
	b, err := r.observe.compile(ctx, f)
	r.report.metrics.ObserveRules(r.observe.rules.incomplete())
	if b == nil || err != nil {
		return nil, err
	}
	f.Block(b)
	return b, r.hold(ctx, f)
}

// compile makes the plan of the pass, or returns what is wrong with the spec.
func (o *observer) compile(ctx context.Context, f *run.Facts) (*run.Blocker, error) {
	if b := f.Rejected(); b != nil {
		return b, nil
	}
	if err := o.setAddresses(ctx, f); err != nil {
		return nil, err
	}
	compiled, warnings, errs := compile.Compile(f.Key().String(), &f.LoadTest.Spec)
	if errs = append(errs, compile.InCluster(&f.LoadTest.Spec)...); len(errs) > 0 {
		return run.Invalid(v1alpha1.ReasonInvalidSpec, strings.Join(compile.ErrorLines(errs), "\n")), nil
	}
	f.Restrict(compiled)
	if errs, err := run.Denied(f.Config, f.Addresses, &f.LoadTest.Spec, compiled); len(errs) > 0 || err != nil {
		return run.Invalid(v1alpha1.ReasonDeniedByPolicy, strings.Join(compile.ErrorLines(errs), "\n")), err
	}
	if err := usePlan(f, compiled); err != nil {
		return nil, err
	}
	f.Warnings = strings.Join(append(warnings, o.rules.warnings()...), "\n")
	return nil, nil
}

// usePlan makes a plan that of the pass.
func usePlan(f *run.Facts, compiled *runnerv1alpha1.Plan) (err error) {
	if f.Canonical, f.PlanDigest, err = plan.Canonical(compiled); err == nil {
		f.PlanHash, err = plan.Hash(compiled)
	}
	f.Plan = compiled
	return err
}

// planStored sees to it that a ConfigMap has the plan, which tenants cannot change then. A test that may not start yet
// stores no plan: each change of the nodes makes another one, and all of them stay as long as the LoadTest.
func (r *reconciler) planStored(ctx context.Context, f *run.Facts) (*run.Blocker, error) {
	c := r.memory.of(f.LoadTest)
	if slices.Contains(f.ConfigMaps, c.storedPlan) && c.storedPlan.Name == desired.PlanName(f.LoadTest, f.PlanDigest) {
		return nil, nil
	}
	gz, err := plan.Gzip(f.Canonical)
	var large *plan.TooLargeError
	if errors.As(err, &large) {
		f.Block(run.Invalid(v1alpha1.ReasonPlanTooLarge, large.Error()))
		return f.Blocked, r.hold(ctx, f)
	}
	if err != nil || f.Unlocked != nil || f.Held() {
		return nil, err
	}
	cm := desired.Plan(f.LoadTest, f.PlanDigest, gz, f.Warnings)
	err = r.perform.attempt(ctx, f, "ConfigMap "+cm.Name, func() error {
		err := r.perform.create(ctx, f.LoadTest, cm)
		if err == nil {
			_, err = decodePlan(cm, f.PlanDigest)
		}
		return err
	})
	if err == nil {
		c.storedPlan = run.Child{Name: cm.Name, UID: cm.UID}
	}
	return nil, err // without this plan, the Job of an earlier one must not start
}

// storedPlan takes the plan that the runners execute: the spec can be another one since, and another version of the
// operator can compile it to another plan.
func (o *observer) storedPlan(ctx context.Context, f *run.Facts) error {
	f.PlanHash, f.PlanDigest = f.Record.Plan.Hash, f.Record.Plan.Digest
	c := o.memory.of(f.LoadTest)
	if c.plan == nil || c.planDigest != f.PlanDigest {
		stored, warnings, err := o.readPlan(ctx, f)
		if err == nil && stored == nil {
			stored, err = recompile(f)
		}
		if err != nil {
			return err
		}
		c.plan, c.planDigest, c.warnings = stored, f.PlanDigest, warnings
	}
	f.Plan, f.Warnings = c.plan, c.warnings
	return nil
}

// readPlan returns the plan of the record and the warnings of its compilation; nil: its ConfigMap was deleted or
// replaced.
func (o *observer) readPlan(ctx context.Context, f *run.Facts) (stored *runnerv1alpha1.Plan, warnings string,
	err error) {
	if f.Record.Plan.Digest == "" { // an earlier version wrote the record
		return nil, "", nil
	}
	cm := desired.Plan(f.LoadTest, f.Record.Plan.Digest, nil, "")
	found, err := existing(ctx, o.reader, f.LoadTest, cm)
	if found {
		stored, err = decodePlan(cm, f.Record.Plan.Digest)
	}
	var conflict *conflictError
	if errors.As(err, &conflict) {
		return nil, "", nil
	}
	return stored, cm.Data[desired.KeyWarnings], err
}

// decodePlan returns the plan of a ConfigMap, or a conflictError if its plan is not the one with the digest. A tenant
// can create a ConfigMap with the name and the owner of the operator's.
func decodePlan(cm *corev1.ConfigMap, digest string) (*runnerv1alpha1.Plan, error) {
	decoded, err := plan.Decode(cm.BinaryData[desired.KeyPlan], digest)
	if err != nil || !ptr.Deref(cm.Immutable, false) {
		return nil, &conflictError{what: "ConfigMap " + cm.Name}
	}
	return decoded, nil
}

// recompile returns the plan of a run whose ConfigMap was deleted or replaced, without the address policy and the
// request limit: only the runners need them, and the nodes and the configuration can be others since. The spec is
// frozen while a test runs, except for the values in the record, so it gives the same plan, as the hash proves.
func recompile(f *run.Facts) (*runnerv1alpha1.Plan, error) {
	gone := fmt.Errorf("the ConfigMap %s of the plan was deleted or replaced, and the spec does not give the plan again",
		f.Record.Plan.Name)
	compiled := f.AsStarted(&f.LoadTest.Spec)
	if compiled == nil {
		return nil, gone
	}
	if hash, err := plan.Hash(compiled); err != nil || hash != f.PlanHash {
		return nil, errors.Join(gone, err)
	}
	return compiled, nil
}
