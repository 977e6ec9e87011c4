package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// decode reads one JSON object into a message. Unknown fields, anything behind the object, and
// a null in its place are errors, so that a typing error cannot pass for a default.
func decode(body []byte, message any) error {
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return errors.New("the body is not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(message); err != nil {
		return fmt.Errorf("the body cannot be decoded: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more data after the JSON object")
	}
	return nil
}
