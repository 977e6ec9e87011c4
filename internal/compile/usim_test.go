package compile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	keyed     = `{name: ue, subscribers: {count: 9, aka: {k: {value: "000102030405060708090a0b0c0d0e0f"}, opc: {value: "000102030405060708090a0b0c0d0e0f"}, sqn: {indBits: 5, delta: 7}}}}`
	challenge = `{name: ask, request: {method: POST, expect: {usim: ue}}}`
)

// TestUSIM: an answer is a capture of the steps with a challenge, and only answers that texts read are stored.
func TestUSIM(t *testing.T) {
	p, warnings := parts{
		variables: keyed,
		steps: challenge + `, {name: again, when: [{value: "${ue.auts}", exists: true}], request: {method: POST, body: "${ue.auts}", expect: {usim: ue}}},
			{name: confirm, request: {method: PUT, path: "/${ue.supi}", body: "${ue.resStar}"}}, {template: get}`,
	}.plan(t)
	chain := &p.Chains[0]
	if diff := cmp.Diff([]string{"ue.resStar", "ue.auts"}, chain.Captures); diff != "" {
		t.Errorf("captures (-want +got)\n%s", diff)
	}
	want := &rv.USIM{Variable: 1, Answers: []rv.UsimAnswer{{Name: rv.AnswerRESStar}, {Name: rv.AnswerAUTS, Slot: 1}}}
	for i := range 2 {
		if diff := cmp.Diff(want, chain.Steps[i].Expect.USIM); diff != "" {
			t.Errorf("step %d (-want +got)\n%s", i, diff)
		}
	}
	if diff := cmp.Diff(rv.Text{{Capture: 1}}, chain.Steps[2].Body); diff != "" || chain.Steps[2].Expect.USIM != nil {
		t.Errorf("the last step (-want +got)\n%s", diff)
	}
	if got := p.Variables[0].Subscribers.AKA.SQN; got != (rv.SQN{IndBits: 5, Delta: 7}) || len(warnings) > 0 {
		t.Errorf("SQN is %+v, warnings %q", got, warnings)
	}
}

// TestUSIMOfTable: a column of a table comes before an answer with the same name.
func TestUSIMOfTable(t *testing.T) {
	p, _ := parts{
		variables: `{name: ue, csv: {text: "k,opc,servingNetwork,rand\n000102030405060708090a0b0c0d0e0f,000102030405060708090a0b0c0d0e0f,5G:x,7\n000102030405060708090a0b0c0d0e0f,000102030405060708090a0b0c0d0e0f,5G:x,8"}}`,
		steps:     challenge + `, {name: confirm, request: {method: PUT, body: "${ue.rand} ${ue.kseaf}"}}`,
	}.plan(t)
	if diff := cmp.Diff(rv.Text{{Variable: 1, Column: "rand"}, {Literal: " "}, {Capture: 1}}, p.Chains[0].Steps[1].Body); diff != "" {
		t.Errorf("the body (-want +got)\n%s", diff)
	}
}

func TestMistakesInUSIM(t *testing.T) {
	const at = "spec.chains[0].steps[0].request.expect.usim"
	table := func(row string) string { return `{name: ue, csv: {text: "k,opc,servingNetwork\n` + row + `"}}` }
	checkMistakes(t, []mistake{
		{"unknown variable", parts{variables: `{name: u, list: {values: [a]}}`, steps: challenge}, []string{at + `: there is no variable "ue"`}},
		{"no table", parts{variables: `{name: ue, list: {values: [a]}}`, steps: challenge}, []string{at + `: variable "ue" has no columns; allowed: subscribers with aka, csv`}},
		{"no keys", parts{variables: `{name: ue, subscribers: {count: 9}}`, steps: challenge}, []string{
			at + `: variable "ue" has no column "k": aka is not set`, at + `: variable "ue" has no column "opc": aka is not set`,
		}},
		{"no network", parts{variables: `{name: ue, csv: {text: "k,opc\n000102030405060708090a0b0c0d0e0f,000102030405060708090a0b0c0d0e0f\n000102030405060708090a0b0c0d0e0f,000102030405060708090a0b0c0d0e0f"}}`, steps: challenge}, []string{
			at + `: variable "ue" has no column "servingNetwork"`,
		}},
		{"short key", parts{variables: table("00,000102030405060708090a0b0c0d0e0f,5G:x\\n000102030405060708090a0b0c0d0e0f,000102030405060708090a0b0c0d0e0f,5G:x"), steps: challenge}, []string{
			at + `: variable "ue": its value of column "k" in row 0 must have 32 hexadecimal digits, because expect.usim uses it as a key`,
		}},
		{"scope", parts{variables: `{name: ue, scope: Step, subscribers: {count: 9, aka: {k: {value: "000102030405060708090a0b0c0d0e0f"}, opc: {value: "000102030405060708090a0b0c0d0e0f"}}}}`, steps: challenge}, []string{
			at + `: variable "ue" must have scope Instance, and order Sequential or Shuffled, so that one worker has all challenges of a subscriber`,
		}},
		{"order", parts{variables: `{name: ue, order: Random, subscribers: {count: 9, aka: {k: {value: "000102030405060708090a0b0c0d0e0f"}, opc: {value: "000102030405060708090a0b0c0d0e0f"}}}}`, steps: challenge}, []string{
			at + `: variable "ue" must have scope Instance, and order Sequential or Shuffled, so that one worker has all challenges of a subscriber`,
		}},
		{"fewer subscribers than shards", parts{variables: strings.Replace(keyed, "count: 9", "count: 1", 1), steps: challenge}, []string{
			at + `: variable "ue" has 1 subscriber for 2 shards, so that two USIMs would have the sequence numbers of one subscriber; allowed: at least one for each shard`,
		}},
		{"fewer rows than shards", parts{variables: table("000102030405060708090a0b0c0d0e0f,000102030405060708090a0b0c0d0e0f,5G:x"), steps: challenge}, []string{
			at + `: variable "ue" has 1 subscriber for 2 shards, so that two USIMs would have the sequence numbers of one subscriber; allowed: at least one for each shard`,
		}},
		{"in setup and load", parts{variables: keyed, steps: challenge + `]}, {name: prepare, phase: Setup, target: target, steps: [` + challenge}, []string{
			`spec.chains[1].steps[0].request.expect.usim: chains "gets" and "prepare" of other phases challenge the subscribers of variable "ue", whose USIMs would have two sequence numbers; use another variable`,
		}},
		{"answer without a challenge", parts{variables: keyed, steps: `{name: get, request: {path: "/${ue.resStar}"}}`}, []string{
			"spec.chains[0].steps[0].request.path: no step has expect.usim: ue, so there is no ${ue.resStar}",
		}},
		{"answer before the challenge", parts{variables: keyed, steps: `{name: get, request: {path: "/${ue.resStar}"}}, ` + challenge}, []string{
			`spec.chains[0].steps[0].request.path: capture "ue.resStar" is read by step "get" of chain "gets" before step "ask" makes it`,
		}},
		{"short key of the home network", variable(`subscribers: {count: 1, suci: {publicKey: "00ff"}}`, "v.suci"), []string{
			"spec.variables[0].subscribers.suci.publicKey: must be a key of X25519 with 64 hexadecimal digits (profile A), or a point of P-256 with 66 or 130 (profile B)",
		}},
		{"long routing indicator", variable(`subscribers: {count: 1, suci: {routingIndicator: "1x"}}`, "v.suci"), []string{
			"spec.variables[0].subscribers.suci.routingIndicator: must have 1 to 4 digits",
		}},
		{"long index", parts{variables: `{name: ue, subscribers: {count: 9, aka: {k: {value: "000102030405060708090a0b0c0d0e0f"}, opc: {value: "000102030405060708090a0b0c0d0e0f"}, sqn: {indBits: 9}}}}`, templates: `{name: get, path: "/${ue.supi}"}`}, []string{
			"spec.variables[0].subscribers.aka.sqn.indBits: must be between 0 and 8",
		}},
	})
}
