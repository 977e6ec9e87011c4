package loadtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// record is a runner that was over before the test was: it was lost, or it was scaled away.
type record struct {
	collect.Recorded
	// member: it had a part of the load. Of one that had none nothing is missing.
	member bool
	time   time.Time
}

// storedRecord is a record in its ConfigMap, but for the last snapshot.
type storedRecord struct {
	Shard  int       `json:"shard"`
	Pod    types.UID `json:"pod,omitempty"`
	Node   string    `json:"node,omitempty"`
	Member bool      `json:"member"`
	Time   time.Time `json:"time"`
	// Loss is absent when the runner has left.
	Loss *collect.Loss `json:"loss,omitempty"`
}

// addRecord takes a record out of its ConfigMap, and its pod out of those that are looked at.
func (s *scope) addRecord(cm *corev1.ConfigMap) error {
	var stored storedRecord
	if err := json.Unmarshal([]byte(cm.Data[desired.KeyRecord]), &stored); err != nil {
		return fmt.Errorf("decoding the record in ConfigMap %s: %w", cm.Name, err)
	}
	rec := record{
		Recorded: collect.Recorded{Shard: stored.Shard, Pod: stored.Pod, Loss: stored.Loss},
		member:   stored.Member, time: stored.Time,
	}
	if gz := cm.BinaryData[desired.KeySnapshot]; len(gz) > 0 {
		if err := decodeGzip(gz, &rec.Snapshot); err != nil {
			return fmt.Errorf("decoding the snapshot in ConfigMap %s: %w", cm.Name, err)
		}
	}
	s.records = append(s.records, rec)
	slices.SortStableFunc(s.records, func(a, b record) int { return a.time.Compare(b.time) })
	if pod := s.pods[rec.Shard]; pod != nil && pod.UID == rec.Pod {
		delete(s.pods, rec.Shard)
	}
	return nil
}

func (s *scope) isRecorded(shard int, pod types.UID) bool {
	return slices.ContainsFunc(s.records, func(r record) bool { return r.Shard == shard && r.Pod == pod })
}

// lastRecord is the newest of a shard; nil: none of its runners is over.
func (s *scope) lastRecord(shard int) *record {
	for i := len(s.records) - 1; i >= 0; i-- {
		if s.records[i].Shard == shard {
			return &s.records[i]
		}
	}
	return nil
}

// recorded is what the collector is to know of the records.
func (s *scope) recorded() []collect.Recorded {
	out := make([]collect.Recorded, 0, len(s.records))
	for i := range s.records {
		out = append(out, s.records[i].Recorded)
	}
	return out
}
