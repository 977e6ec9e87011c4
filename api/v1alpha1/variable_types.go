package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Variable is a source of values. A chain instance draws one value of each variable that it uses
// when it begins and keeps it for all its steps; scope says otherwise. Exactly one of the fields
// that say what it is (range to constant) is needed.
//
// The values of range, list and csv are split: each worker of each shard has its own values, so that a value is used
// twice only after a worker has used all its values. A sequence with fewer values than workers cannot be split, and
// each worker uses all values.
//
// +kubebuilder:validation:XValidation:rule="[has(self.range), has(self.list), has(self.csv), has(self.random), has(self.uuid), has(self.counter), has(self.timestamp), has(self.env), has(self.perShard), has(self.constant)].filter(x, x).size() == 1",message="exactly one of range, list, csv, random, uuid, counter, timestamp, env, perShard and constant is needed"
// +kubebuilder:validation:XValidation:rule="has(self.range) || has(self.list) || has(self.csv) || ((!has(self.order) || self.order == 'Sequential') && (!has(self.atEnd) || self.atEnd == 'Wrap'))",message="order and atEnd go with range, list and csv"
// +kubebuilder:validation:XValidation:rule="!has(self.scope) || self.scope == 'Instance' || !(has(self.env) || has(self.perShard) || has(self.constant))",message="env, perShard and constant have one value and no scope"
// +kubebuilder:validation:XValidation:rule="!has(self.scope) || self.scope != 'Global' || !has(self.timestamp)",message="a timestamp cannot be Global: runners have no clock in common",fieldPath=".scope"
type Variable struct {
	// name is how templates refer to it: ${name}, or ${name.column} for csv. Letters, digits and
	// _, not beginning with a digit, at most 50 characters. A capture must not have the same name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name string `json:"name"`
	// scope is how often the runner draws a value. Instance is once for each chain instance. Step is once for each
	// request. Worker is once for each worker thread. Global is once for the whole test, so all shards have the
	// same value. Default Instance.
	// +optional
	// +kubebuilder:default=Instance
	Scope VariableScope `json:"scope,omitempty"`
	// order is the order of the values of range, list and csv. Sequential is as written. Shuffled is each value once,
	// in an order that seed decides. Random is any value of the whole sequence each time, so values repeat.
	// Default Sequential.
	// +optional
	// +kubebuilder:default=Sequential
	Order VariableOrder `json:"order,omitempty"`
	// atEnd is what happens when a share of range, list or csv is used up. Wrap starts again with its first value.
	// Stop starts no more instances of the chains that draw the variable; the test ends when no chain can start.
	// Default Wrap.
	// +optional
	// +kubebuilder:default=Wrap
	AtEnd VariableEnd `json:"atEnd,omitempty"`

	// range is a sequence of integers.
	// +optional
	Range *IntegerRange `json:"range,omitempty"`
	// list is a sequence of strings.
	// +optional
	List *ValueList `json:"list,omitempty"`
	// csv is a table (RFC 4180): ${name.column} is a column of it, and all columns that an
	// instance uses are of one row.
	// +optional
	CSV *CSV `json:"csv,omitempty"`
	// random is an independent random value each time.
	// +optional
	Random *Random `json:"random,omitempty"`
	// uuid is a random UUID each time (RFC 9562 5.4, version 4), in lower case.
	// +optional
	UUID *UUID `json:"uuid,omitempty"`
	// counter is a sequence of integers without an end; no value occurs twice in the test.
	// +optional
	Counter *Counter `json:"counter,omitempty"`
	// timestamp is the time of the runner's clock when the value is drawn, in UTC.
	// +optional
	Timestamp *Timestamp `json:"timestamp,omitempty"`
	// env is a variable of the environment of the runner pod, which runner.podTemplate may set, by the
	// downward API for instance; for the command line that of the process.
	// +optional
	Env *Env `json:"env,omitempty"`
	// perShard is a value for each shard: shard s, counted from 0, has entry s modulo their number.
	// +optional
	PerShard *ValueList `json:"perShard,omitempty"`
	// constant is one value.
	// +optional
	Constant *Constant `json:"constant,omitempty"`
}

// VariableScope says how often a value is drawn.
//
// +kubebuilder:validation:Enum=Instance;Step;Worker;Global
type VariableScope string

const (
	// ScopeInstance is once for each chain instance.
	ScopeInstance VariableScope = "Instance"
	// ScopeStep is once for each request.
	ScopeStep VariableScope = "Step"
	// ScopeWorker is once for each worker thread.
	ScopeWorker VariableScope = "Worker"
	// ScopeGlobal is once for the whole test.
	ScopeGlobal VariableScope = "Global"
)

// VariableOrder is the order in which a sequence is gone through.
//
// +kubebuilder:validation:Enum=Sequential;Shuffled;Random
type VariableOrder string

const (
	// OrderSequential is as written.
	OrderSequential VariableOrder = "Sequential"
	// OrderShuffled is each value once, in an order that the seed decides.
	OrderShuffled VariableOrder = "Shuffled"
	// OrderRandom is any value each time.
	OrderRandom VariableOrder = "Random"
)

// VariableEnd says what happens when a sequence is used up.
//
// +kubebuilder:validation:Enum=Wrap;Stop
type VariableEnd string

const (
	// EndWrap begins again.
	EndWrap VariableEnd = "Wrap"
	// EndStop begins no more chain instances.
	EndStop VariableEnd = "Stop"
)

// IntegerRange is start, start+step, ... below end.
//
// +kubebuilder:validation:XValidation:rule="self.end > self.start",message="end must be greater than start"
type IntegerRange struct {
	// start is the first value, 0 to 10^18. Default 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000000000
	Start int64 `json:"start"`
	// end is exclusive: the first value that is not in the sequence any more. Greater than
	// start, at most 10^18.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000000000
	End int64 `json:"end"`
	// step is the distance from one value to the next, 1 to 10^18. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000000000
	Step int64 `json:"step,omitempty"`
	// width pads each value with zeros on the left to this many digits, at most 19. It must not
	// be smaller than the largest value has digits. Default 0: no padding.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=19
	Width int32 `json:"width,omitempty"`
	// format is decimal or hex, lower-case hexadecimal digits. Default decimal.
	// +optional
	// +kubebuilder:default=Decimal
	// +kubebuilder:validation:Enum=Decimal;Hex
	Format string `json:"format,omitempty"`
}

// ValueList is a list of strings.
type ValueList struct {
	// values are the strings, 1 to 4096 of at most 1024 characters each. They are inserted as
	// they are: ${...} has no meaning in them. A value must be possible wherever a template
	// inserts it, in a path or a header for instance.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4096
	// +kubebuilder:validation:items:MaxLength=1024
	Values []string `json:"values"`
}

// CSV is a table (RFC 4180): fields in quotes may hold delimiters, line ends and doubled quotes. All
// rows have the same number of fields; a byte order mark at the beginning is skipped. Exactly one of
// configMapKeyRef, secretKeyRef, file and text is needed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMapKeyRef), has(self.secretKeyRef), has(self.file), has(self.text)].filter(x, x).size() == 1",message="exactly one of configMapKeyRef, secretKeyRef, file and text is needed"
type CSV struct {
	// configMapKeyRef is a key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`
	// secretKeyRef is a key of a Secret.
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
	// file is a path where the runner runs, as in bodyFrom.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
	// text is the table itself, at most 65536 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Text string `json:"text,omitempty"`
	// columns are the names of the columns, up to 256, when the table has no row of its own for
	// them. A name has letters, digits, _ and -, and at most 50 characters. Default: the first row
	// has the names.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=50
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_][A-Za-z0-9_-]*$`
	Columns []string `json:"columns,omitempty"`
	// delimiter is the character between fields. It must not be a quote or a line end. Default a comma.
	// +optional
	// +kubebuilder:default=","
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1
	Delimiter string `json:"delimiter,omitempty"`
}

// Random is an independent value each time. Exactly one of its fields is needed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.integer), has(self.hex), has(self.string), has(self.choice)].filter(x, x).size() == 1",message="exactly one of integer, hex, string and choice is needed"
type Random struct {
	// integer is uniform over a range.
	// +optional
	Integer *RandomInteger `json:"integer,omitempty"`
	// hex is a number of lower-case hexadecimal digits.
	// +optional
	Hex *RandomHex `json:"hex,omitempty"`
	// string is a number of characters out of an alphabet.
	// +optional
	String *RandomString `json:"string,omitempty"`
	// choice is one of several values, by weight: 1 to 256 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Choice []RandomChoice `json:"choice,omitempty"`
}

// RandomInteger is uniform over min to max, both included.
//
// +kubebuilder:validation:XValidation:rule="self.max >= self.min",message="max must not be below min"
type RandomInteger struct {
	// min is the smallest value, 0 to 10^18. Default 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000000000
	Min int64 `json:"min"`
	// max is the greatest value, at most 10^18.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000000000
	Max int64 `json:"max"`
	// width pads with zeros on the left to this many digits, at most 19. Default 0: no padding.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=19
	Width int32 `json:"width,omitempty"`
}

// RandomHex is a number of hexadecimal digits.
type RandomHex struct {
	// length is the number of digits, 1 to 1024.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Length int32 `json:"length"`
}

// RandomString is a number of characters.
type RandomString struct {
	// length is the number of characters, 1 to 1024.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Length int32 `json:"length"`
	// alphabet is what they are chosen from, 1 to 128 printable ASCII characters. Default: letters
	// and digits.
	// +optional
	// +kubebuilder:default="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[ -~]+$`
	Alphabet string `json:"alphabet,omitempty"`
}

// RandomChoice is a value that may be chosen.
type RandomChoice struct {
	// value is inserted as it is, at most 1024 characters.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
	// weight among the others, 1 to 10000. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Weight int32 `json:"weight,omitempty"`
}

// UUID has no fields: {}.
type UUID struct{}

// Counter is start, start+step, ... Each worker takes the numbers of its own slots, so that none
// occurs twice; with several workers they are not used in strict order.
type Counter struct {
	// start is the first value, 0 to 10^18. Default 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000000000
	Start int64 `json:"start"`
	// step is the distance from one value to the next, 1 to 1000000. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Step int64 `json:"step,omitempty"`
	// width pads with zeros on the left to this many digits, at most 19. Default 0: no padding.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=19
	Width int32 `json:"width,omitempty"`
}

// Timestamp is an instant in UTC.
type Timestamp struct {
	// format is how the time is written. RFC3339 is 2006-01-02T15:04:05Z, the DateTime of 3GPP TS 29.571.
	// RFC3339Milli is 2006-01-02T15:04:05.000Z. EpochSeconds and EpochMilliseconds count from 1970. IMFFixdate is
	// the date of header fields (RFC 9110 5.6.7). Default RFC3339.
	// +optional
	// +kubebuilder:default=RFC3339
	// +kubebuilder:validation:Enum=RFC3339;RFC3339Milli;EpochSeconds;EpochMilliseconds;IMFFixdate
	Format string `json:"format,omitempty"`
	// offset is added to the time, such as 1h for an expiry; with a minus sign it is taken off. At
	// most 8760h (a year) either way. Default 0s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('-8760h') && duration(self) <= duration('8760h')",message="must be between -8760h and 8760h"
	Offset *metav1.Duration `json:"offset,omitempty"`
}

// Env is a variable of the environment.
type Env struct {
	// name of the variable, at most 256 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z][-._a-zA-Z0-9]*$`
	Name string `json:"name"`
	// default is the value if the environment variable is not set, at most 1024 characters. Without it, the runner
	// does not become ready if the environment variable is not set.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Default *string `json:"default,omitempty"`
}

// Constant is one value. It has exactly one field.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type Constant struct {
	// value is the value itself, at most 8192 characters. Everyone who may read the LoadTest can read it.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Value *string `json:"value,omitempty"`
	// valueFrom is where the value is. The runner removes a line end at its end.
	// +optional
	ValueFrom *ValueFrom `json:"valueFrom,omitempty"`
}
