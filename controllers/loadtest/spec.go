package loadtest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// live compares what the spec says of the values that can change while the test runs with the record. The plan stays
// the one that was started with: the runners get the differences as changes.
func (o *observer) live(f *run.Facts) (err error) {
	c := o.memory.of(f.LoadTest)
	if c.present == nil || c.present.Generation != f.LoadTest.Generation {
		if c.present, err = f.PresentOf(); err != nil {
			return err
		}
	}
	f.Present, f.NotApplied = c.present, c.present.Why
	if f.Edits = decide.EditsOf(f, c.present); len(f.Edits) > 0 && f.Record.Full() {
		f.NotApplied = fmt.Sprintf("the test already has %d changes and %d runners that ended, which is the maximum",
			len(f.Record.Changes), len(f.Record.Shards))
		f.Edits = nil
	}
	return nil
}

// noteEdited finds out whether the spec of a test that finished describes another test than the one that ran. An edit
// of the TTL does not, and neither does a change that took effect while the test ran. A cache can have an older spec
// than the one that ran.
func (o *observer) noteEdited(f *run.Facts) (err error) {
	ran := f.Record.Plan.Generation
	if f.Record.Start == nil { // the plan is that of the last Job; zero: the record is of an earlier version, or was lost
		ran = f.Record.End.UnstartedGeneration
	}
	if ran == 0 || f.LoadTest.Generation <= ran {
		return nil
	}
	c := o.memory.of(f.LoadTest)
	if c.editedGeneration != f.LoadTest.Generation {
		if c.edited, err = f.DescribesAnother(); err != nil {
			return err
		}
		c.editedGeneration = f.LoadTest.Generation
	}
	f.Edited = c.edited
	return nil
}

// specIsCurrent returns whether the API server has the LoadTest with the spec of this pass. An edit that the cache does
// not show yet leads to another plan. The API server refuses an edit after startTime is in status; one between this
// read and that write has no effect and is reported.
func (o *observer) specIsCurrent(ctx context.Context, f *run.Facts) (bool, error) {
	lt := &v1alpha1.LoadTest{}
	err := o.reader.Get(ctx, f.Key(), lt)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the LoadTest: %w", err)
	}
	return lt.UID == f.LoadTest.UID && lt.Generation == f.LoadTest.Generation && lt.DeletionTimestamp == nil, nil
}
