package simulate

import (
	"testing"
	"time"

	"github.com/h2surge/h2surge/test/simulate/trial"
)

var simulation = trial.Simulation{Actions: Actions, Horizon: 90 * time.Second, Limit: 2 * time.Minute}

// TestDefects checks that the patches of former defects fit the code. With -defects=REGEXP it puts them back, one after another, and runs seeds
// until one fails.
func TestDefects(t *testing.T) { simulation.Defects(t, "../..", "testdata/defects", "TestSeeds") }
