package loadtest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// ending is how a run ended: what status says from then on. It lies beside the report, so that
// the same fact ends the run and says how.
type ending struct {
	// Reason is one of the reasons of Finished, Message a sentence.
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	Time    metav1.Time `json:"time"`
	// Started is false for a run that ended before its start.
	Started           bool                      `json:"started"`
	StartTime         *metav1.Time              `json:"startTime,omitempty"`
	StartedGeneration int64                     `json:"startedGeneration,omitempty"`
	Generation        int64                     `json:"generation"`
	PlanHash          string                    `json:"planHash,omitempty"`
	Warnings          string                    `json:"warnings,omitempty"`
	Shards            v1alpha1.ShardCounts      `json:"shards"`
	Skew              *int64                    `json:"startSkewMicroseconds,omitempty"`
	Runners           []v1alpha1.RunnerStatus   `json:"runners,omitempty"`
	Results           *v1alpha1.Results         `json:"results,omitempty"`
	Summary           *v1alpha1.Summary         `json:"summary,omitempty"`
	Verdict           *v1alpha1.Verdict         `json:"verdict,omitempty"`
	ReportRef         *v1alpha1.ReportReference `json:"reportRef,omitempty"`
}

func decodeEnding(cm *corev1.ConfigMap) (*ending, error) {
	out := &ending{}
	if err := json.Unmarshal([]byte(cm.Data[desired.KeyEnd]), out); err != nil {
		return nil, fmt.Errorf("decoding the ending in ConfigMap %s: %w", cm.Name, err)
	}
	return out, nil
}

func encodeGzip(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding a %T: %w", v, err)
	}
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(raw); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// maxDecoded bounds what is decompressed of our own ConfigMaps, which others can write.
const maxDecoded = 64 << 20

func decodeGzip(gz []byte, into any) error {
	z, err := gzip.NewReader(bytes.NewReader(gz))
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(z, maxDecoded))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// fit encodes v in at most limit bytes, taking details away in order until it fits. It returns
// the names of those.
func fit[T any](v T, limit int, details []detail[T]) (gz []byte, dropped []string, err error) {
	for i := 0; ; i++ {
		if gz, err = encodeGzip(v); err != nil {
			return nil, nil, err
		}
		if len(gz) <= limit {
			return gz, dropped, nil
		}
		if i == len(details) {
			return nil, nil, fmt.Errorf("%T has %d bytes without its details; allowed: at most %d", v, len(gz), limit)
		}
		v = details[i].without(v)
		dropped = append(dropped, details[i].name)
	}
}

// detail is a part of v that can be left out. without must not change its argument.
type detail[T any] struct {
	name    string
	without func(T) T
}
