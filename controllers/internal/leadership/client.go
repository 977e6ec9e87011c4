package leadership

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrNotLeading is the error of a write that a process did not make, because it may not decide any more.
var ErrNotLeading = errors.New("this process may not decide: it does not lead")

// Client returns a client that asks before each write whether this process may decide. A pass can begin before the
// lease runs out and write after that, when another process may have decided otherwise.
func Client(c client.Client, leading func() bool) client.Client { return guarded{c, leading} }

type guarded struct {
	client.Client
	leading func() bool
}

// write makes a write if the process leads.
func (g guarded) write(f func() error) error {
	if !g.leading() {
		return ErrNotLeading
	}
	return f()
}

// Create implements client.Writer.
func (g guarded) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return g.write(func() error { return g.Client.Create(ctx, o, opts...) })
}

// Update implements client.Writer.
func (g guarded) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return g.write(func() error { return g.Client.Update(ctx, o, opts...) })
}

// Patch implements client.Writer.
func (g guarded) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	return g.write(func() error { return g.Client.Patch(ctx, o, p, opts...) })
}

// Apply implements client.Writer.
func (g guarded) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return g.write(func() error { return g.Client.Apply(ctx, o, opts...) })
}

// Delete implements client.Writer.
func (g guarded) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return g.write(func() error { return g.Client.Delete(ctx, o, opts...) })
}

// DeleteAllOf implements client.Writer.
func (g guarded) DeleteAllOf(ctx context.Context, o client.Object, opts ...client.DeleteAllOfOption) error {
	return g.write(func() error { return g.Client.DeleteAllOf(ctx, o, opts...) })
}

// Status implements client.StatusClient. Only patches are guarded: the operator makes no other writes of a status.
func (g guarded) Status() client.SubResourceWriter { return guardedStatus{g.Client.Status(), g} }

type guardedStatus struct {
	client.SubResourceWriter
	of guarded
}

// Patch implements client.SubResourceWriter.
func (s guardedStatus) Patch(ctx context.Context, o client.Object, p client.Patch,
	opts ...client.SubResourcePatchOption) error {
	return s.of.write(func() error { return s.SubResourceWriter.Patch(ctx, o, p, opts...) })
}
