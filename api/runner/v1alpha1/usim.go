package v1alpha1

// USIM answers the challenge of a response (5G AKA or EAP-AKA', TS 33.501 6.1.3) for the subscriber of the instance.
type USIM struct {
	// Variable is a 1-based index into Plan.Variables, of subscribers or of a table with UsimColumns. Its scope is
	// ScopeInstance and its order not OrderRandom, so one worker has all challenges of a subscriber.
	Variable int `json:"variable"`
	// Answers are stored in slots of the chain. Without AnswerAUTS and AnswerEAP, a sequence number that is not fresh is a
	// failure.
	Answers []UsimAnswer `json:"answers,omitempty"`
}

// SQN is how a USIM verifies sequence numbers (TS 33.102 C.2).
type SQN struct {
	// IndBits is the length of IND, the end of SQN, at most MaxIndBits.
	IndBits int `json:"indBits,omitempty"`
	// Delta is the maximum difference between SEQ and the highest accepted one; zero: there is no maximum.
	Delta int64 `json:"delta,omitempty"`
}

// Bounds of SQN, which has 48 bits.
const (
	MaxIndBits = 8
	MaxDelta   = 1 << 48
)

// UsimAnswer stores an answer of the USIM.
type UsimAnswer struct {
	Name Answer `json:"name"`
	// Slot is an index into Chain.Captures.
	Slot int `json:"slot"`
}

// Answer is the name of an answer of a USIM.
type Answer string

// The answers of a USIM, in hexadecimal digits. AnswerAUTS is empty unless the sequence number is not fresh; then
// AnswerRESStar and AnswerKSEAF are empty.
const (
	AnswerRAND    Answer = "rand"
	AnswerRESStar Answer = "resStar"
	AnswerAUTS    Answer = "auts"
	AnswerKSEAF   Answer = "kseaf"
	// AnswerEAP is the response of EAP-AKA' in base64: a challenge response, a synchronization failure or, if a check
	// failed, a rejection or an error.
	AnswerEAP Answer = "eapPayload"
)

// Answers returns all answers in a fixed order.
func Answers() []Answer {
	return []Answer{AnswerRAND, AnswerRESStar, AnswerAUTS, AnswerKSEAF, AnswerEAP}
}

// UsimColumns are the columns that a USIM needs. EAP-AKA' also needs ColumnSUPI.
func UsimColumns() []Column { return []Column{ColumnK, ColumnOPc, ColumnServingNetwork} }

// The names of failures of a USIM, which the name of a Check cannot be: the response has no challenge; MAC of AUTN is
// wrong; the separation bit of AMF is 0 (TS 33.501 6.1.3.2); SQN is not fresh, and no step resynchronizes.
const (
	CheckUSIMChallenge = checkUSIM + "challenge"
	CheckUSIMMAC       = checkUSIM + "mac"
	CheckUSIMAMF       = checkUSIM + "amf"
	CheckUSIMSQN       = checkUSIM + "sqn"

	// Failures of EAP-AKA' (RFC 9048): a packet that is not a challenge; a wrong AT_MAC; another network name than that
	// of the subscriber; another key derivation function than 1.
	CheckUSIMEAP     = checkUSIM + "eap"
	CheckUSIMEAPMAC  = checkUSIM + "eapMAC"
	CheckUSIMNetwork = checkUSIM + "network"
	CheckUSIMKDF     = checkUSIM + "kdf"

	checkUSIM = "usim."
)
