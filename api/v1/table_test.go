package v1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// table is what kubectl get prints: the columns, those that only -o wide shows,
// and the cells of the one row.
type table struct {
	names, wide []string
	cells       []any
}

func tableOf(t *testing.T, raw []byte) table {
	t.Helper()
	var answer metav1.Table
	if err := utiljson.Unmarshal(raw, &answer); err != nil {
		t.Fatalf("reading the table %s: %v", raw, err)
	}
	if len(answer.Rows) != 1 {
		t.Fatalf("want one row, got %d: %s", len(answer.Rows), raw)
	}
	var read table
	for _, column := range answer.ColumnDefinitions {
		read.names = append(read.names, column.Name)
		if column.Priority > 0 {
			read.wide = append(read.wide, column.Name)
		}
	}
	read.cells = answer.Rows[0].Cells
	return read
}

// asYAML compares values whose times differ in location or monotonic clock only.
func asYAML(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatalf("writing %v: %v", value, err)
	}
	return string(text)
}
