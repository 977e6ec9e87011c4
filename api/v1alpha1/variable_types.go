package v1alpha1

// Variable is a source of values. Set exactly one of range, list, csv, subscribers, random, uuid, counter,
// timestamp, env, perShard and constant. A chain instance draws one value of each variable that it uses, and keeps the
// value for all its steps. scope changes this.
//
// The runners split the values of range, list, csv and subscribers: each worker of each shard gets its own values. So a
// value is used twice only after a worker has used all its values. A sequence with fewer values than workers
// cannot be split, and each worker uses all values.
//
// +kubebuilder:validation:XValidation:rule="[has(self.range), has(self.list), has(self.csv), has(self.subscribers), has(self.random), has(self.uuid), has(self.counter), has(self.timestamp), has(self.env), has(self.perShard), has(self.constant)].filter(x, x).size() == 1",message="exactly one of range, list, csv, subscribers, random, uuid, counter, timestamp, env, perShard and constant is needed"
// +kubebuilder:validation:XValidation:rule="has(self.range) || has(self.list) || has(self.csv) || has(self.subscribers) || ((!has(self.order) || self.order == 'Sequential') && (!has(self.atEnd) || self.atEnd == 'Wrap'))",message="order and atEnd are allowed with range, list, csv and subscribers only"
// +kubebuilder:validation:XValidation:rule="!has(self.scope) || self.scope == 'Instance' || !(has(self.env) || has(self.perShard) || has(self.constant))",message="scope is not allowed with env, perShard and constant, which have one value"
// +kubebuilder:validation:XValidation:rule="!has(self.scope) || self.scope != 'Global' || !has(self.timestamp)",message="scope Global is not allowed with timestamp: each runner has its own clock",fieldPath=".scope"
type Variable struct {
	// name is the name of the variable. A template inserts the value with ${name}, or with ${name.column} for csv
	// and subscribers.
	// A capture must not have the same name. Bounds: at most 50 letters, digits and _; the first character must
	// not be a digit.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name string `json:"name"`
	// scope is how often the runner draws a value. Instance is once for each chain instance. Step is once for each
	// request, so that when of the step and match of await cannot read it. Worker is once for each worker thread. Global
	// is once for the whole test, so all shards have the same value. Default: Instance. env, perShard and constant have
	// one value, so they do not allow another scope. timestamp does not allow Global.
	// +optional
	// +kubebuilder:default=Instance
	Scope VariableScope `json:"scope,omitempty"`
	// order is the order of the values of range, list, csv and subscribers. Sequential is the order of the list. Shuffled
	// is each value once, in an order that seed determines. Random is any value of the whole sequence each time, so
	// values repeat. Default: Sequential.
	// +optional
	// +kubebuilder:default=Sequential
	Order VariableOrder `json:"order,omitempty"`
	// atEnd is what happens when a worker has used all its values of range, list, csv or subscribers. Wrap starts again
	// with the first value. Stop starts no more instances of the chains that use the variable. The test ends when no
	// chain can start. Default: Wrap.
	// +optional
	// +kubebuilder:default=Wrap
	AtEnd VariableEnd `json:"atEnd,omitempty"`

	// range is a sequence of integers.
	// +optional
	Range *IntegerRange `json:"range,omitempty"`
	// list is a sequence of strings.
	// +optional
	List *ValueList `json:"list,omitempty"`
	// csv is a sequence of rows of a table (RFC 4180). ${name.column} inserts a column. All columns that an
	// instance uses are from the same row.
	// +optional
	CSV *CSV `json:"csv,omitempty"`
	// subscribers is a sequence of subscribers of a 5G network. The runner computes the identities of a subscriber
	// from its number, so ten million subscribers need no memory. ${name.supi} inserts the SUPI. The other columns
	// are suci, gpsi, pei, ipv4, ipv6Prefix and servingNetwork, and with aka also k and opc, and the answers of
	// expect.usim. All columns that an instance uses are those of the same subscriber.
	// +optional
	Subscribers *Subscribers `json:"subscribers,omitempty"`
	// random is an independent random value for each draw.
	// +optional
	Random *Random `json:"random,omitempty"`
	// uuid is a random UUID for each draw (RFC 9562 5.4, version 4), in lower case. {} is its only value.
	// +optional
	UUID *UUID `json:"uuid,omitempty"`
	// counter is a sequence of integers without an end. A value does not occur twice in the test.
	// +optional
	Counter *Counter `json:"counter,omitempty"`
	// timestamp is the time of the runner's clock when the runner draws the value, in UTC.
	// +optional
	Timestamp *Timestamp `json:"timestamp,omitempty"`
	// env is an environment variable of the runner. In a cluster runner.podTemplate can set it, for example with
	// the downward API. On the command line it is an environment variable of the process.
	// +optional
	Env *Env `json:"env,omitempty"`
	// perShard is one value for each shard. Shard s, counted from 0, uses entry s modulo the number of entries.
	// +optional
	PerShard *ValueList `json:"perShard,omitempty"`
	// constant is one value.
	// +optional
	Constant *Constant `json:"constant,omitempty"`
}

// VariableScope is how often the runner draws a value.
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

// VariableOrder is the order of the values of a sequence.
//
// +kubebuilder:validation:Enum=Sequential;Shuffled;Random
type VariableOrder string

const (
	// OrderSequential is the order of the list.
	OrderSequential VariableOrder = "Sequential"
	// OrderShuffled is each value once, in an order that the seed determines.
	OrderShuffled VariableOrder = "Shuffled"
	// OrderRandom is any value each time.
	OrderRandom VariableOrder = "Random"
)

// VariableEnd is what happens when a worker has used all its values of a sequence.
//
// +kubebuilder:validation:Enum=Wrap;Stop
type VariableEnd string

const (
	// EndWrap starts again with the first value.
	EndWrap VariableEnd = "Wrap"
	// EndStop starts no more chain instances.
	EndStop VariableEnd = "Stop"
)

// IntegerRange is the sequence start, start+step and so on, below end.
//
// +kubebuilder:validation:XValidation:rule="self.end > (has(self.start) ? self.start : 0)",message="end must be greater than start"
type IntegerRange struct {
	// start is the first value. Default: 0. Bounds: 0 to 10^18.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000000000
	Start int64 `json:"start"`
	// end is the exclusive upper limit: all values are below end. Bounds: greater than start, at most 10^18.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000000000
	End int64 `json:"end"`
	// step is the distance from one value to the next. Default: 1. Bounds: 1 to 10^18.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000000000
	Step int64 `json:"step,omitempty"`
	// width is the number of digits to which zeros on the left extend each value. It must not be smaller than the
	// number of digits of the largest value. Default: 0, no zeros. Bounds: 0 to 19.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=19
	Width int32 `json:"width,omitempty"`
	// format is how a value is written. Decimal is decimal digits. Hex is lower-case hexadecimal digits. Default:
	// Decimal.
	// +optional
	// +kubebuilder:default=Decimal
	// +kubebuilder:validation:Enum=Decimal;Hex
	Format string `json:"format,omitempty"`
}

// ValueList is a list of strings.
type ValueList struct {
	// values are the strings. The runner inserts them unchanged: ${...} has no meaning in them. Each value must be
	// allowed in each place where a template inserts it, for example in a path or a header. Bounds: 1 to 4096
	// entries with at most 1024 characters each.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4096
	// +kubebuilder:validation:items:MaxLength=1024
	Values []string `json:"values"`
}

// CSV is a table (RFC 4180). Quoted fields can contain delimiters, line ends and doubled quotes. All rows must
// have the same number of fields. A byte order mark at the start has no effect. Set exactly one of
// configMapKeyRef, secretKeyRef, file and text. Each runner reads the table when it starts: do not change it while a
// test runs.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMapKeyRef), has(self.secretKeyRef), has(self.file), has(self.text)].filter(x, x).size() == 1",message="exactly one of configMapKeyRef, secretKeyRef, file and text is needed"
type CSV struct {
	// configMapKeyRef is the key of a ConfigMap that contains the table.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`
	// secretKeyRef is the key of a Secret that contains the table.
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
	// file is the path of the table. In a cluster it is a path in the container of the runner, on a volume of
	// runner.podTemplate. On the command line it is a path on the machine. Bounds: at most 4096 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
	// text is the table itself. Bounds: 1 to 65536 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Text string `json:"text,omitempty"`
	// columns are the names of the columns, for a table whose first row does not contain them. Default: the first
	// row contains the names. Bounds: at most 256 entries; each with 1 to 50 letters, digits, _ and -, and without
	// - at the start.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=50
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_][A-Za-z0-9_-]*$`
	Columns []string `json:"columns,omitempty"`
	// delimiter is the character between two fields. It must not be a quote or a line end. Default: a comma.
	// Bounds: 1 character.
	// +optional
	// +kubebuilder:default=","
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1
	Delimiter string `json:"delimiter,omitempty"`
}

// Subscribers are the subscribers with the numbers start to start+count-1. The number of a subscriber determines
// all its identities, so it has the same ones in each test. The formats are those of 3GPP TS 29.571 5.3.2.
//
// servingNetwork is the serving network name of the home network, such as 5G:mnc001.mcc001.3gppnetwork.org (TS
// 24.501 9.12.1).
type Subscribers struct {
	// count is the number of subscribers. Bounds: 1 to 10^10.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000000
	Count int64 `json:"count"`
	// start is the number of the first subscriber. Default: 0. Bounds: 0 to 10^10.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000000000
	Start int64 `json:"start,omitempty"`
	// supi is the format of SUPIs. Default: imsi-00101 and ten digits, which are the number of the subscriber. 001
	// and 01 are the codes of the test network.
	// +optional
	SUPI *SUPI `json:"supi,omitempty"`
	// gpsi is the format of GPSIs. Default: msisdn-999 and ten digits, which are the number of the subscriber.
	// +optional
	GPSI *GPSI `json:"gpsi,omitempty"`
	// pei is the format of PEIs. Default: IMEIs with the type allocation code 00100000.
	// +optional
	PEI *PEI `json:"pei,omitempty"`
	// ipv4 is the pool of the IPv4 addresses. Default: 10.0.0.0/8. If the default is too small for count, the
	// column does not exist.
	// +optional
	IPv4 *IPv4Pool `json:"ipv4,omitempty"`
	// ipv6Prefix is the pool of the IPv6 prefixes. Default: prefixes of length 64 in 2001:db8::/32. If the default is
	// too small for count, the column does not exist.
	// +optional
	IPv6Prefix *IPv6Pool `json:"ipv6Prefix,omitempty"`
	// aka is the keys for 5G AKA (TS 33.501 6.1.3.2). Default: no keys; then the columns k and opc do not exist.
	// +optional
	AKA *AKA `json:"aka,omitempty"`
	// suci is the format of SUCIs. Default: the null scheme and routing indicator 0 (TS 23.003 2.2B), such as
	// suci-0-001-01-0-0-0-0000000007.
	// +optional
	SUCI *SUCI `json:"suci,omitempty"`
}

// SUCI is the format of SUCIs.
type SUCI struct {
	// publicKey is the home network's key, in hexadecimal digits. A key of X25519 with 64 digits conceals with profile
	// A, and a point of P-256 with 66 digits (compressed) or 130 digits with profile B (TS 33.501 C.3). Default: none, for
	// the null scheme.
	// +optional
	// +kubebuilder:validation:MaxLength=130
	PublicKey string `json:"publicKey,omitempty"`
	// keyID is the identifier of publicKey. Default: 1. Bounds: 1 to 255.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=255
	KeyID int32 `json:"keyID,omitempty"`
	// routingIndicator has 1 to 4 digits. Write it in quotes. Default: 0.
	// +optional
	// +kubebuilder:validation:MaxLength=4
	RoutingIndicator string `json:"routingIndicator,omitempty"`
}

// SUPI is the format of SUPIs that contain an IMSI: imsi-, mcc, mnc and the number of the subscriber with zeros on
// the left.
type SUPI struct {
	// mcc is the mobile country code. Write it in quotes. Default: 001. Bounds: 3 digits.
	// +optional
	// +kubebuilder:default="001"
	// +kubebuilder:validation:MaxLength=3
	// +kubebuilder:validation:Pattern=`^[0-9]{3}$`
	MCC string `json:"mcc,omitempty"`
	// mnc is the mobile network code. Write it in quotes. Default: 01. Bounds: 2 or 3 digits.
	// +optional
	// +kubebuilder:default="01"
	// +kubebuilder:validation:MaxLength=3
	// +kubebuilder:validation:Pattern=`^[0-9]{2,3}$`
	MNC string `json:"mnc,omitempty"`
	// digits is the number of digits of the IMSI. Default: 15. Bounds: 6 to 15, and enough for mcc, mnc and the
	// number of the last subscriber.
	// +optional
	// +kubebuilder:default=15
	// +kubebuilder:validation:Minimum=6
	// +kubebuilder:validation:Maximum=15
	Digits int32 `json:"digits,omitempty"`
}

// GPSI is the format of GPSIs that contain an MSISDN: msisdn-, prefix and the number of the subscriber with zeros on
// the left.
type GPSI struct {
	// prefix is the first digits. Write it in quotes. Default: 999. Bounds: 1 to 14 digits.
	// +optional
	// +kubebuilder:default="999"
	// +kubebuilder:validation:MaxLength=14
	// +kubebuilder:validation:Pattern=`^[0-9]+$`
	Prefix string `json:"prefix,omitempty"`
	// digits is the number of digits of the MSISDN. Default: 13. Bounds: 5 to 15, and enough for prefix and the
	// number of the last subscriber.
	// +optional
	// +kubebuilder:default=13
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=15
	Digits int32 `json:"digits,omitempty"`
}

// PEI is the format of PEIs. The last six digits of the subscriber's number are the serial number of the device. Its
// other digits are added to tac, so each subscriber has another device.
type PEI struct {
	// type is IMEI for imei- and 15 digits, the last of which is the check digit (TS 23.003 B). IMEISV is imeisv- and
	// 16 digits, the last two of which are softwareVersion. Default: IMEI.
	// +optional
	// +kubebuilder:default=IMEI
	// +kubebuilder:validation:Enum=IMEI;IMEISV
	Type string `json:"type,omitempty"`
	// tac is the type allocation code of the subscriber with number 0. Write it in quotes. Default: 00100000. Bounds:
	// 8 digits.
	// +optional
	// +kubebuilder:default="00100000"
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:Pattern=`^[0-9]{8}$`
	TAC string `json:"tac,omitempty"`
	// softwareVersion is the software version number of an IMEISV. Type IMEI ignores it. Write it in quotes.
	// Default: 00. Bounds: 2 digits.
	// +optional
	// +kubebuilder:default="00"
	// +kubebuilder:validation:MaxLength=2
	// +kubebuilder:validation:Pattern=`^[0-9]{2}$`
	SoftwareVersion string `json:"softwareVersion,omitempty"`
}

// IPv4Pool is a pool of IPv4 addresses. The subscriber with number 0 has its first address.
type IPv4Pool struct {
	// pool is a prefix that has enough addresses for the number of the last subscriber. Bounds: at most 18 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=18
	Pool string `json:"pool"`
}

// IPv6Pool is a pool of IPv6 prefixes. The subscriber with number 0 has its first prefix.
type IPv6Pool struct {
	// pool is a prefix that has enough prefixes of the given length for the number of the last subscriber. Bounds: at
	// most 43 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	Pool string `json:"pool"`
	// length is the length of a subscriber's prefix in bits. Default: 64. Bounds: 1 to 128, and not below the length
	// of pool.
	// +optional
	// +kubebuilder:default=64
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	Length int32 `json:"length,omitempty"`
}

// AKA is the keys of the subscribers' USIMs, for MILENAGE (TS 35.206).
//
// +kubebuilder:validation:XValidation:rule="has(self.op) != has(self.opc)",message="exactly one of op and opc is needed"
type AKA struct {
	// k is the subscriber key K, or the key from which derivation computes it.
	// +required
	K KeySource `json:"k"`
	// derivation is how the runner computes K of a subscriber. None uses k for all subscribers. HMACSHA256 uses the
	// first 32 hexadecimal digits of HMAC-SHA-256 with key k over the SUPI, such as imsi-001010000000007. Default:
	// None.
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:Enum=None;HMACSHA256
	Derivation string `json:"derivation,omitempty"`
	// op is the operator variant OP. The runner computes OPc of each subscriber from OP and K.
	// +optional
	OP *KeySource `json:"op,omitempty"`
	// opc is OPc for all subscribers.
	// +optional
	OPc *KeySource `json:"opc,omitempty"`
	// sqn is how SQN is verified. Default: each SQN must be greater than all earlier ones.
	// +optional
	SQN *SQN `json:"sqn,omitempty"`
}

// SQN is how a USIM verifies sequence numbers, which are SEQ and an index IND (TS 33.102 C.2). The first accepted
// number is any above 0, because the USIMs of a test start without history.
type SQN struct {
	// indBits is the length of IND in bits. SEQ must be greater than the last one with the same IND. A subscriber that
	// gets a challenge needs 8 bytes for each value of IND. Default: 0. Bounds: 0 to 8.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	IndBits int32 `json:"indBits,omitempty"`
	// delta is the largest step of SEQ. It counts from the highest one so far. Default: 0, no limit. Bounds: 0 to 2^48.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=281474976710656
	Delta int64 `json:"delta,omitempty"`
}

// KeySource is a key of 128 bits. Set exactly one field.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type KeySource struct {
	// value is the key itself. A user who can read the LoadTest can read the key. Bounds: 32 hexadecimal digits.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[0-9A-Fa-f]{32}$`
	Value string `json:"value,omitempty"`
	// valueFrom is the source of the key, which must have 32 hexadecimal digits. The runner removes a line end at the
	// end.
	// +optional
	ValueFrom *ContentSource `json:"valueFrom,omitempty"`
}

// Random is an independent random value for each draw. Set exactly one field.
//
// +kubebuilder:validation:XValidation:rule="[has(self.integer), has(self.hex), has(self.string), has(self.choice)].filter(x, x).size() == 1",message="exactly one of integer, hex, string and choice is needed"
type Random struct {
	// integer is an integer with uniform distribution.
	// +optional
	Integer *RandomInteger `json:"integer,omitempty"`
	// hex is a string of lower-case hexadecimal digits.
	// +optional
	Hex *RandomHex `json:"hex,omitempty"`
	// string is a string of characters of an alphabet.
	// +optional
	String *RandomString `json:"string,omitempty"`
	// choice is one of several values, by weight. Bounds: 1 to 256 entries.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Choice []RandomChoice `json:"choice,omitempty"`
}

// RandomInteger is an integer from min to max. Both limits are included, and all values are equally likely.
//
// +kubebuilder:validation:XValidation:rule="self.max >= (has(self.min) ? self.min : 0)",message="max must not be below min"
type RandomInteger struct {
	// min is the smallest value. Default: 0. Bounds: 0 to 10^18.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000000000
	Min int64 `json:"min"`
	// max is the largest value. Bounds: min to 10^18.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000000000
	Max int64 `json:"max"`
	// width is the number of digits to which zeros on the left extend each value. Default: 0, no zeros. Bounds: 0
	// to 19.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=19
	Width int32 `json:"width,omitempty"`
}

// RandomHex is a string of hexadecimal digits.
type RandomHex struct {
	// length is the number of digits. Bounds: 1 to 1024.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Length int32 `json:"length"`
}

// RandomString is a string of random characters.
type RandomString struct {
	// length is the number of characters. Bounds: 1 to 1024.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Length int32 `json:"length"`
	// alphabet is the characters from which the runner chooses. Default: ASCII letters and digits. Bounds: 1 to
	// 128 printable ASCII characters.
	// +optional
	// +kubebuilder:default="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[ -~]+$`
	Alphabet string `json:"alphabet,omitempty"`
}

// RandomChoice is one of the values from which the runner chooses.
type RandomChoice struct {
	// value is the value, which the runner inserts unchanged. Bounds: at most 1024 characters.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
	// weight is how often the runner chooses the value, relative to the weights of the other values. Default: 1.
	// Bounds: 1 to 10000.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Weight int32 `json:"weight,omitempty"`
}

// UUID has no fields: {}.
type UUID struct{}

// Counter is the sequence start, start+step and so on. Each worker uses the numbers of its own slots, so a
// number does not occur twice. With several workers the numbers are not in strict order.
type Counter struct {
	// start is the first value. Default: 0. Bounds: 0 to 10^18.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000000000
	Start int64 `json:"start"`
	// step is the distance from one value to the next. Default: 1. Bounds: 1 to 1000000.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Step int64 `json:"step,omitempty"`
	// width is the number of digits to which zeros on the left extend each value. Default: 0, no zeros. Bounds: 0
	// to 19.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=19
	Width int32 `json:"width,omitempty"`
}

// Timestamp is a time in UTC.
type Timestamp struct {
	// format is how the time is written. RFC3339 is 2006-01-02T15:04:05Z, the DateTime of 3GPP TS 29.571.
	// RFC3339Milli is 2006-01-02T15:04:05.000Z. EpochSeconds and EpochMilliseconds are the time since 1970.
	// IMFFixdate is the format of date headers (RFC 9110 5.6.7). IMFFixdateMilli is the same with milliseconds, as
	// in 3gpp-Sbi-Sender-Timestamp (TS 29.500 5.2.3.3.2). Default: RFC3339.
	// +optional
	// +kubebuilder:default=RFC3339
	// +kubebuilder:validation:Enum=RFC3339;RFC3339Milli;EpochSeconds;EpochMilliseconds;IMFFixdate;IMFFixdateMilli
	Format string `json:"format,omitempty"`
	// offset is a duration that the runner adds to the time, such as 1h for an expiry. A negative offset gives an
	// earlier time. Default: 0s. Bounds: -8760h to 8760h (one year).
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('-8760h') && duration(self) <= duration('8760h')",message="must be between -8760h and 8760h"
	Offset *SignedDuration `json:"offset,omitempty"`
}

// Env is an environment variable.
type Env struct {
	// name is the name of the environment variable. Bounds: at most 256 letters, digits, -, _ and dots; the first
	// character must not be a digit.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z][-._a-zA-Z0-9]*$`
	Name string `json:"name"`
	// default is the value if the environment does not contain the variable. Default: no value; then the runner
	// does not become ready without the variable. Bounds: at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Default *string `json:"default,omitempty"`
}

// Constant is one value. Set exactly one field.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type Constant struct {
	// value is the value itself. A user who can read the LoadTest can read the value. Bounds: at most 8192
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Value *string `json:"value,omitempty"`
	// valueFrom is the source of the value. The runner removes a line end at the end of the value.
	// +optional
	ValueFrom *ValueFrom `json:"valueFrom,omitempty"`
}
