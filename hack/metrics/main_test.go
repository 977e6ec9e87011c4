package main

import (
	"os"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/metric"
)

func TestPageIsThatOfTheCode(t *testing.T) {
	got, err := page()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Error("docs/reference/metrics.md is not what the code says: make docs")
	}
	if strings.Contains(got, "{{") {
		t.Error("a table has no place")
	}
}

func TestLabelsAreBounded(t *testing.T) {
	_, err := render([]metric.Family{{Name: "sent_total", Labels: []string{"chain", "url"}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "sent_total has a label url") {
		t.Errorf("error %v, want one about url", err)
	}
}
