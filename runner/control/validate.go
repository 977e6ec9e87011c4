package control

import (
	"errors"
	"fmt"
	"reflect"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// maxReason bounds Stop.Reason, which goes into the report as it is.
const maxReason = 256

// The functions below check what can be said of a message without the plan. The engine checks
// the rest.

func validUpdate(u *rv.Update) error {
	if u.Revision < 1 {
		return fmt.Errorf("revision is %d, must be at least 1", u.Revision)
	}
	if u.At < 0 {
		return fmt.Errorf("at is %d, must not be negative", u.At)
	}
	if u.Leave && reflect.ValueOf(u.Share).IsZero() {
		return nil
	}
	return validShare(&u.Share)
}

func validShare(s *rv.Share) error {
	if s.Shards < 1 || s.Shard < 0 || s.Shard >= s.Shards {
		return fmt.Errorf("share.shard is %d of %d", s.Shard, s.Shards)
	}
	if err := validSlots(&s.Slots); err != nil {
		return err
	}
	if len(s.FirstConnection) != len(s.Connections) {
		return errors.New("share.firstConnection and share.connections differ in length")
	}
	for i := range s.Connections {
		if s.Connections[i] < 0 || s.FirstConnection[i] < 0 {
			return fmt.Errorf("share.connections[%d] is negative", i)
		}
	}
	for i, spans := range s.Variables {
		for j, span := range spans {
			if span.From < 0 || span.To < span.From {
				return fmt.Errorf("share.variables[%d][%d] is not an interval", i, j)
			}
		}
	}
	return nil
}

func validSlots(s *rv.Slots) error {
	if s.Of < 1 {
		return fmt.Errorf("share.slots.of is %d, must be at least 1", s.Of)
	}
	previous := int64(-1)
	for i, r := range s.Residues {
		if r <= previous || r >= s.Of {
			return fmt.Errorf("share.slots.residues[%d] is out of order or range", i)
		}
		previous = r
	}
	return nil
}

func validStart(s *rv.Start) error {
	if s.At < 1 {
		return fmt.Errorf("at is %d, must be a time of the runner's clock", s.At)
	}
	if s.LeaseUntil < 0 || s.Term < 0 {
		return errors.New("leaseUntil and term must not be negative")
	}
	return nil
}

func validStop(s *rv.Stop) error {
	if len(s.Reason) > maxReason {
		return fmt.Errorf("reason is longer than %d bytes", maxReason)
	}
	return nil
}
