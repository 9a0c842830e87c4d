package workload

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// cond is one entry of a status.conditions list, as all kinds that have one write it.
type cond struct {
	status, reason, message string
	since                   time.Time
}

// condition finds a condition by type, wherever it stands in the list. Where a type stands there more than once, one
// that is True wins, since an end that was reported is never taken back by a later entry.
func condition(u *unstructured.Unstructured, conditionType string) (cond, bool) {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	var found cond
	var ok bool
	for _, item := range list {
		m, isMap := item.(map[string]any)
		if !isMap || m["type"] != conditionType || (ok && found.status == "True") {
			continue
		}
		found = cond{since: timeAt(m, "lastTransitionTime")}
		found.status, _, _ = unstructured.NestedString(m, "status")
		found.reason, _, _ = unstructured.NestedString(m, "reason")
		found.message, _, _ = unstructured.NestedString(m, "message")
		ok = true
	}
	return found, ok
}

// timeAt reads an RFC 3339 time; an absent or unreadable one is zero, which callers take as "not reported".
func timeAt(obj map[string]any, path ...string) time.Time {
	text, _, _ := unstructured.NestedString(obj, path...)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
