package checkpoint

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPutOfMoreParts: the same counts with fewer missing parts replace those of the Writer, which have a smaller limit.
func TestPutOfMoreParts(t *testing.T) {
	trimmed := encoded(t, "a", 5)
	trimmed.Dropped = []string{phases}
	for name, tt := range map[string]struct {
		first, second Encoded
		final         bool
		want          []string
	}{
		"more parts":               {trimmed, encoded(t, "a", 5), false, nil},
		"fewer parts":              {encoded(t, "a", 5), trimmed, false, nil},
		"more parts of final ones": {trimmed, encoded(t, "a", 5), true, trimmed.Dropped},
		"more parts, but earlier":  {trimmed, encoded(t, "a", 4), false, trimmed.Dropped},
	} {
		for _, fresh := range []bool{false, true} {
			s := newServer(t)
			store := s.store()
			err := store.Put(t.Context(), key, tt.first, tt.final, at)
			if fresh {
				store = s.store()
			}
			if err = errors.Join(err, store.Put(t.Context(), key, tt.second, false, at)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := store.Get(t.Context(), key)
			if err != nil || got == nil {
				t.Fatalf("%s: %v, %v", name, got, err)
			}
			if diff := cmp.Diff(tt.want, got.Dropped); diff != "" {
				t.Errorf("%s (new store: %t): missing parts (-want +got):\n%s", name, fresh, diff)
			}
		}
	}
}
