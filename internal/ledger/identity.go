package ledger

import "strings"

// JobID returns the key of a job's document. It names cluster and namespace, so
// that no tenant can take another's ID. Neither of them can hold a slash, so the
// key is unambiguous although id may hold some.
func JobID(cluster, namespace, id string) string {
	return cluster + "/" + namespace + "/" + id
}

// SplitJobID takes apart what JobID made. It is not ok if a part is missing or
// empty.
func SplitJobID(jobID string) (cluster, namespace, id string, ok bool) {
	parts := strings.SplitN(jobID, "/", 3)
	if len(parts) < 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}

// RowID returns the key of a job's row. No type holds a colon, so the key is
// unambiguous although a job's ID may hold some.
func RowID(jobID string, typ Type) string {
	return jobID + ":" + string(typ)
}
