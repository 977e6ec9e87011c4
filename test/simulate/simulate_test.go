package simulate

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/h2surge/h2surge/test/markdown"
	"github.com/h2surge/h2surge/test/simulate/trial"
)

var simulation = trial.Simulation{Actions: Actions, Triggers: Triggers, Horizon: 90 * time.Second, Limit: time.Minute, New: New}

// fixedSeeds are as many as two CPUs run in 20 seconds.
const fixedSeeds = 24

// TestSeeds runs fixed seeds, or what its flags ask for.
func TestSeeds(t *testing.T) { simulation.Seeds(t, fixedSeeds) }

// TestStories runs what a seed found, or what a rule needs, with the fewest events that show it.
func TestStories(t *testing.T) {
	for name, events := range map[string]string{
		// A runner is lost, the operator restarts, and the runner answers again. It gets the next change, and the stop.
		"NextOperatorReachesLostRunner": `0s operators; 0s links; 0s test shards=3 rate=20 seconds=150 lost=1;
			10s cut ms=30000; 38s killOperator; 100s rate rate=5; 120s stop`,
		// A former leader reads the last counts, and its successor, which reads them later, starts a runner that joins.
		"StartAfterTheLoad": `0s operators replicas=2; 0s links delay=8; 0s test lease=13 lost=1 rate=20 seconds=30 shards=4;
			29s starting ms=10000; 30s scale shards=5; 31s cutOperator ms=40000; 39s@update:LoadTestRun+0s slowWrite delay=700 times=2`,
		// The pod of a lost runner is replaced, and a probe begins with the decision about the loss.
		"ProbeWithALoss": `0s operators; 0s links; 0s test feature=5 lease=11 lost=2 rate=91 seconds=10 shards=5;
			4.5s stopOperator operator=1; 4.65s cutAll ms=36000; 36s force ms=2000 runner=7`,
		// A Secret is created after the end, by an operator that was killed.
		"SecretAfterTheEnd": `0s operators replicas=2; 0s links; 0s test rate=20; 5s another rate=20;
			5s@create:Secret+0s slowWrite delay=20000 times=1; 5s@create:Secret+0s loseAnswer times=1;
			5s@create:Secret+100ms killOperator; 5s@create:Secret+200ms stop test=1`,
		// All runners of a search are lost, and none that replaces them has joined.
		"SearchWithoutRunners": `0s operators; 0s links; 0s test feature=5 lease=11 lost=2 rate=35 seconds=18 shards=2;
			15s force ms=800 runner=1; 28.6s force ms=4000`,
		// A runner that waits for teardown does not hear of its operator for longer than a minute.
		"TeardownAfterSilence": `0s operators; 0s links; 0s test once=2; 5s mute ms=110000`,
		// A LoadTest that has a lock, and no Job yet, is replaced while the operator does not watch.
		"ReplacedWithALock": `0s operators; 0s links; 0s test extra=1; 1ms forbid kind=2 ms=20000; 3s another extra=1;
			10s gone; 10.001s replace`,
		// A runner that is frozen hears of a suspension after its last slot, so the suspension continues its load.
		"SuspensionAfterTheLastSlot": `0s operators; 0s links; 0s test rate=5 seconds=5; 4.2s freeze ms=14700; 6s suspend`,
		// A tenant creates a Job in the name of the operator, and deletes it at the end of the faults.
		"ForgedJob": `0s operators; 0s links; 0s test; 200ms forge kind=3 owner=1; 8s evict`,
		// The Secret is deleted while the API server refuses the Job of the attempt. It is created again, and the answer is lost.
		"SecretCreatedAgain": `0s operators; 0s links; 0s test rate=20; 1ms admission kind=3 ms=20000; 5s deleteObject kind=5;
			5s@create:Secret+0s loseAnswer times=1`,
		// The operator ends between the report and the end, and its successor finds a runner lost.
		"ReportBeforeALoss": `0s operators; 0s links; 0s test feature=9 limit=1 rate=20 seconds=20 shards=2;
			15s@create:ConfigMap+0s loseAnswer times=2; 15s@create:ConfigMap+1ms killOperator;
			15s@create:ConfigMap+1ms kill runner=1`,
		// The counts of a runner that left are damaged while no operator runs.
		"DamagedCountsOfALeaver": `0s operators; 0s links; 0s test feature=9 rate=20 seconds=30 shards=2; 7s scale shards=1;
			14s stopOperator; 14s damage runner=1`,
		// Edits cause passes while RBAC forbids the run records. The operator notices soon that it may read them again.
		"ForbiddenForAWhile": `0s operators; 0s links; 0s test feature=9 rate=20 seconds=10; 1ms forbid kind=2 ms=100000;
			60s scale shards=2; 61s scale shards=1; 62s scale shards=2; 63s scale shards=1; 64s scale shards=2; 65s scale`,
		// The pod of a runner that is ready is deleted by force just before the start, and the runner is cut off.
		"ForcedBeforeTheStart": `0s operators; 0s links; 0s test lost=2 rate=5 seconds=11 shards=4;
			1ms@update:LoadTestRun+698ms evict; 18ms@patch:Job+1.743s node ms=1389 runner=4; 3.333s force ms=3089;
			6.003s node`,
		// The Job replaces a lost runner of a loop that ends by requests, with Continue: no other runner sends its share again.
		"LostShareOfALoop": `0s operators; 0s links delay=9; 0s test lost=1 profile=4 rate=60 seconds=80 shards=2; 4s suspend;
			9s force ms=50; 20.1s suspend`,
	} {
		t.Run(name, func(t *testing.T) { simulation.Story(t, events) })
	}
}

const defects = "testdata/defects"

// TestDefects checks that the patches of former defects fit the code. With -defects=REGEXP it puts them back, one after
// another, and runs seeds until one fails.
func TestDefects(t *testing.T) { simulation.Defects(t, "../..", defects, "TestSeeds") }

// TestPage checks the tables of the page about the simulation.
func TestPage(t *testing.T) {
	const page = "../../docs/project/design/simulation.md"
	var rows [][]string
	names := map[string]bool{}
	for _, a := range Actions {
		if names[a.Name] {
			t.Errorf("two actions are called %s", a.Name)
		}
		names[a.Name] = true
		var args []string
		for _, arg := range a.Args {
			args = append(args, fmt.Sprintf("`%s` %d to %d", arg.Name, arg.Low, arg.High))
		}
		weight := strconv.Itoa(a.Weight)
		if a.Weight == 0 {
			weight = "once"
		}
		rows = append(rows, []string{a.Group, "`" + a.Name + "`", weight, strings.Join(args, ", "), a.Doc})
	}
	markdown.Generated(t, page, "actions: generated by TestPage",
		markdown.Table([]string{"who", "action", "weight", "arguments", "what happens"}, rows))

	rows = nil
	for _, m := range Triggers {
		rows = append(rows, []string{"`" + m.Name + "`", strconv.Itoa(m.Weight), m.Doc})
	}
	markdown.Generated(t, page, "triggers: generated by TestPage",
		markdown.Table([]string{"trigger", "weight", "what happens"}, rows))

	files, err := filepath.Glob(filepath.Join(defects, "*.patch"))
	if err != nil {
		t.Fatal(err)
	}
	rows = nil
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		rows = append(rows, []string{"`" + strings.TrimSuffix(filepath.Base(file), ".patch") + "`", lines[0], lines[1]})
	}
	markdown.Generated(t, page, "defects: generated by TestPage",
		markdown.Table([]string{"defect", "what it was", "found in core time"}, rows))
}
