package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// List returns the tests of the namespace, or of all namespaces, the newest first. The selector is one of kubectl's;
// an empty one selects all tests.
func (c *Cluster) List(ctx context.Context, all bool, selector string) ([]v1alpha1.LoadTest, error) {
	chosen, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	options := []client.ListOption{client.MatchingLabelsSelector{Selector: chosen}}
	if !all {
		options = append(options, client.InNamespace(c.Namespace))
	}
	tests := &v1alpha1.LoadTestList{}
	if err := c.client.List(ctx, tests, options...); err != nil {
		return nil, c.explain(err)
	}
	slices.SortStableFunc(tests.Items, func(a, b v1alpha1.LoadTest) int {
		if by := b.CreationTimestamp.Compare(a.CreationTimestamp.Time); by != 0 {
			return by
		}
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return tests.Items, nil
}

// None is the message for a list without tests.
func (c *Cluster) None(all bool) string {
	if all {
		return "the cluster has no LoadTests"
	}
	return fmt.Sprintf("namespace %s has no LoadTests", c.Namespace)
}

// Table returns a table of tests. namespaces adds a column with their namespaces.
func Table(tests []v1alpha1.LoadTest, namespaces bool, now time.Time) []string {
	if len(tests) == 0 {
		return nil
	}
	var rows [][]string
	row := func(namespace string, cells ...string) {
		if namespaces {
			cells = append([]string{namespace}, cells...)
		}
		rows = append(rows, cells)
	}
	row("NAMESPACE", "NAME", "PHASE", "SHARDS", "RATE", "P50", "P99", "ERRORS", "PASSED", "AGE")
	for i := range tests {
		lt := &tests[i]
		s := v1alpha1.Summary{}
		if lt.Status.Summary != nil {
			s = *lt.Status.Summary
		}
		row(lt.Namespace, lt.Name, orDash(string(lt.Status.Phase)), orDash(s.Shards), orDash(s.Rate), orDash(s.P50),
			orDash(s.P99), orDash(s.Errors),
			orDash(passed(lt)), duration.HumanDuration(max(0, now.Sub(lt.CreationTimestamp.Time))))
	}
	return aligned(rows)
}

// passed returns the status of the condition Passed; "": the test has not ended.
func passed(lt *v1alpha1.LoadTest) string {
	if c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionPassed); c != nil {
		return string(c.Status)
	}
	return ""
}
