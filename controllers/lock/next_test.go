package lock

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

var now = time.Unix(1_000_000, 0).UTC()

// test returns a LoadTest with lock "core" that was created at a second.
func test(name string, second int, changes ...func(*v1alpha1.LoadTest)) v1alpha1.LoadTest {
	lt := v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(time.Unix(int64(second), 0)),
	}}
	lt.Spec.Lock = "core"
	for _, change := range changes {
		change(&lt)
	}
	return lt
}

func suspended(lt *v1alpha1.LoadTest) { lt.Spec.Suspend = true }

func started(lt *v1alpha1.LoadTest) { lt.Status.StartTime = &metav1.Time{Time: now} }

func ended(lt *v1alpha1.LoadTest) { lt.Status.CompletionTime = &metav1.Time{Time: now} }

func deleted(lt *v1alpha1.LoadTest) { lt.DeletionTimestamp = &metav1.Time{Time: now} }

func invalid(lt *v1alpha1.LoadTest) {
	lt.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue}}
}

func withoutJob(lt *v1alpha1.LoadTest) {
	lt.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRunnersReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonJobCreationFailed}}
}

// show writes a lock as "holder[ released][ left] | waiting", and "-" for one that does not exist.
func show(lock *statev1alpha1.LoadTestLock) string {
	if lock == nil || lock.Holder.UID == "" {
		return "-"
	}
	parts := []string{lock.Holder.Name}
	if lock.Holder.Released {
		parts = append(parts, "released")
	}
	if lock.Holder.Left != "" {
		parts = append(parts, "left "+lock.Holder.Left)
	}
	return strings.TrimSpace(strings.Join(parts, " ") + " | " + strings.Join(lock.Waiting, " "))
}

func TestNext(t *testing.T) {
	type tests = []v1alpha1.LoadTest
	for _, tt := range []struct {
		name  string
		lock  string // as show writes it
		tests tests
		left  string
		want  string
		again time.Duration
	}{
		{"no test", "-", nil, "", "-", 0},
		{"the oldest is first", "-", tests{test("b", 2), test("c", 3), test("a", 2)}, "", "a | b c", 0},
		{"only suspended, invalid and ended tests", "-", tests{test("a", 1, suspended), test("b", 1, invalid), test("c", 1, ended), test("d", 1, deleted)}, "", "-", 0},
		{"the lock of a running test was deleted", "-", tests{test("a", 1), test("b", 2, started)}, "", "b | a", 0},
		{"the holder waits for pods", "a |", tests{test("a", 1), test("b", 2)}, "", "a | b", 0},
		{"the holder runs, suspended", "a | b", tests{test("a", 1, started, suspended), test("b", 2)}, "", "a | b", 0},
		{"the stored order stays", "a | c b", tests{test("a", 1), test("b", 2), test("c", 3), test("d", 0)}, "", "a | c b d", 0},
		{"ended, with a Job", "a | b", tests{test("a", 1, ended), test("b", 2)}, "Job a-1", "a left Job a-1 | b", 0},
		{"ended", "a | b c", tests{test("a", 1, ended), test("b", 2), test("c", 3)}, "", "b | c", 0},
		{"deleted, with a pod", "a | b", tests{test("b", 2)}, "pod a-1-0", "a left pod a-1-0 | b", 0},
		{"deleted", "a | b", tests{test("b", 2)}, "", "b |", 0},
		{"another test of the name", "a | b", tests{test("a", 3, func(lt *v1alpha1.LoadTest) { lt.UID = "another" }), test("b", 2)}, "", "b | a", 0},
		{"suspended: first released", "a | b", tests{test("a", 1, suspended), test("b", 2)}, "", "a released | b", 0},
		{"started before the release", "a released | b", tests{test("a", 1, started), test("b", 2)}, "Job a-1", "a released left Job a-1 | b a", 0},
		{"released", "a released | b", tests{test("a", 1, suspended), test("b", 2)}, "", "b |", 0},
		{"released, and resumed", "a released | b", tests{test("a", 1), test("b", 2)}, "", "b | a", 0},
		{"released, resumed, and no other waits", "a released |", tests{test("a", 1), test("b", 2, ended)}, "", "a |", 0},
		{"suspended, and no other waits", "a |", tests{test("a", 1, suspended)}, "", "a |", 0},
		{"invalid", "a | b", tests{test("a", 1, invalid), test("b", 2)}, "", "a released | b", 0},
		{"refused for 10 s", "a | b", tests{test("a", 1, withoutJob), test("b", 2)}, "", "a | b", 20 * time.Second},
		{"refused for 30 s", "a 30s | b", tests{test("a", 1, withoutJob), test("b", 2)}, "", "a released | b a", 0},
		{"refused for 30 s, and no other waits", "a 30s |", tests{test("a", 1, withoutJob)}, "", "a |", 0},
		{"ended, and no other waits", "a |", tests{test("a", 1, ended)}, "", "a |", 0},
		{"no test names it", "a |", nil, "", "-", 0},
		{"no test names it, with a pod", "a |", nil, "pod a-1-0", "a left pod a-1-0 |", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lock := &statev1alpha1.LoadTestLock{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core"}}
			f := facts{now: now, tests: tt.tests, left: tt.left}
			if who, waiting, exists := strings.Cut(tt.lock, " |"); exists {
				words := strings.Fields(who)
				lock.Waiting = strings.Fields(waiting)
				lock.Holder = statev1alpha1.LockHolder{
					Name: words[0], UID: types.UID("uid-" + words[0]), Time: metav1.NewMicroTime(now.Add(-10 * time.Second)), Released: slices.Contains(words, "released"),
				}
				if slices.Contains(words, "30s") {
					lock.Holder.Time = metav1.NewMicroTime(now.Add(-refusedTimeout))
				}
			}
			f.find(lock)
			got, again := next(lock, f)
			if show(got) != tt.want || again != tt.again {
				t.Errorf("got %q, again after %v; want %q, %v", show(got), again, tt.want, tt.again)
			}
			if got != nil && got.Holder.UID != lock.Holder.UID && !got.Holder.Time.Equal(&metav1.MicroTime{Time: now}) {
				t.Errorf("the new holder has the lock since %v", got.Holder.Time)
			}
		})
	}
}

// TestNextStarvesNone: tests whose Jobs the API server refuses take turns, and the one that can run gets its turn.
func TestNextStarvesNone(t *testing.T) {
	lock := &statev1alpha1.LoadTestLock{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core"}}
	f := facts{now: now, tests: []v1alpha1.LoadTest{test("a", 1, withoutJob), test("b", 2, withoutJob), test("c", 3, withoutJob)}}
	var holders []string
	for range 5 {
		for range 2 { // release, and the next holder
			f.find(lock)
			lock, _ = next(lock, f)
		}
		holders = append(holders, lock.Holder.Name)
		f.now = f.now.Add(refusedTimeout)
	}
	if diff := cmp.Diff("a b c a b", strings.Join(holders, " ")); diff != "" {
		t.Errorf("holders (-want +got):\n%s", diff)
	}
}

func TestWhy(t *testing.T) {
	lock := &statev1alpha1.LoadTestLock{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core"}, Holder: statev1alpha1.LockHolder{Name: "a", UID: "uid-a"}, Waiting: []string{"b", "c", "d"},
	}
	passed := lock.DeepCopy()
	passed.Holder, passed.Waiting = statev1alpha1.LockHolder{Name: "b", UID: "uid-b"}, []string{"c", "d"}
	left := lock.DeepCopy()
	left.Holder.Left = "pod a-1-0"
	released := lock.DeepCopy()
	released.Holder.Released = true
	holds, over := test("a", 1), test("a", 1, started, ended)
	longer, shorter := lock.DeepCopy(), lock.DeepCopy()
	longer.Waiting, shorter.Waiting = []string{"b", "c", "d", "e"}, []string{"b", "d"}
	for _, tt := range []struct {
		name, want string
		lock       *statev1alpha1.LoadTestLock
		holder     *v1alpha1.LoadTest
		reason     string
	}{
		{"b", "not given to a LoadTest yet", nil, nil, v1alpha1.ReasonLockNotGiven},
		{"b", "held by LoadTest ns/a", lock, &holds, v1alpha1.ReasonWaitingForLock},
		{"c", "held by LoadTest ns/a; before this test: LoadTest ns/b", lock, &holds, v1alpha1.ReasonWaitingForLock},
		{"d", "held by LoadTest ns/a; before this test: LoadTest ns/b and 1 more", lock, &holds, v1alpha1.ReasonWaitingForLock},
		{"b", "held by LoadTest ns/a, whose pod a-1-0 has not ended", left, &over, v1alpha1.ReasonLockNotGiven},
		{"b", "held by LoadTest ns/a", lock, &over, v1alpha1.ReasonLockNotGiven},
		{"b", "held by LoadTest ns/a", lock, nil, v1alpha1.ReasonLockNotGiven},
		{"b", "held by LoadTest ns/a", released, &holds, v1alpha1.ReasonLockNotGiven},
	} {
		if got := Why(tt.name, tt.lock); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		if got := Reason(tt.lock, tt.holder); got != tt.reason {
			t.Errorf("%s is %q: reason %s, want %s", tt.name, tt.want, got, tt.reason)
		}
	}
	for _, tt := range []struct {
		name          string
		before, after *statev1alpha1.LoadTestLock
		want          string
	}{
		{"created", nil, lock, "a b c d"},
		{"deleted", lock, nil, "a b c d"},
		{"another holder", lock, passed, "a b c d"},
		{"left", lock, left, "a b c d"},
		{"one more waits", lock, longer, "e"},
		{"one less waits", lock, shorter, "c d"},
		{"nothing", lock, lock, ""},
	} {
		var names []string
		for _, request := range affected(tt.before, tt.after) {
			names = append(names, request.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%s wakes %q, want %q", tt.name, got, tt.want)
		}
	}
}
