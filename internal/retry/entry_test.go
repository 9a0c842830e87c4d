package retry

import (
	"math"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

var eight = time.Date(2026, 3, 1, 8, 0, 0, 5e6, time.UTC)

func anEntry() Entry {
	return Entry{Version: 1, JobID: "c1/team-a/j1", Cluster: "c1", Namespace: "team-a", Name: "train", UID: "uid-1",
		Account: "acme", Cost: 25, Attempts: 2, NotBefore: eight, Reason: "OOM <killed>"}
}

const anEntryEncoded = `{"version":1,"job_id":"c1/team-a/j1","cluster":"c1","namespace":"team-a","name":"train","uid":"uid-1",` +
	`"account":"acme","cost":25,"attempts":2,"not_before":"2026-03-01T08:00:00.005Z","reason":"OOM \u003ckilled\u003e"}`

func TestEntryEncoding(t *testing.T) {
	g := NewWithT(t)
	raw, err := anEntry().Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(raw)).To(Equal(anEntryEncoded))

	elsewhere := anEntry()
	elsewhere.NotBefore = eight.In(time.FixedZone("east", 3600))
	g.Expect(elsewhere.Encode()).To(Equal(raw))

	back, err := Decode(raw)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(back).To(Equal(anEntry()))
}

func TestEntryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Entry{Version: 1,
			JobID:     rapid.StringN(1, -1, 1024).Draw(t, "job"),
			Cluster:   rapid.String().Draw(t, "cluster"),
			Namespace: rapid.StringN(1, -1, 63).Draw(t, "namespace"),
			Name:      rapid.StringN(1, -1, 63).Draw(t, "name"),
			UID:       rapid.String().Draw(t, "uid"),
			Account:   rapid.String().Draw(t, "account"),
			Cost:      rapid.Int64Min(0).Draw(t, "cost"),
			Attempts:  rapid.IntMin(1).Draw(t, "attempts"),
			NotBefore: time.Unix(rapid.Int64Range(-62135596799, 253402300799).Draw(t, "seconds"), rapid.Int64Range(0, 999999999).Draw(t, "nanos")).UTC(),
			Reason:    rapid.StringN(0, -1, MaxReasonBytes).Draw(t, "reason"),
		}
		raw, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		if back != e {
			t.Fatalf("%+v came back as %+v", e, back)
		}
	})
}

func TestDecodeIsStrict(t *testing.T) {
	without := func(old, replacement string) string {
		if !strings.Contains(anEntryEncoded, old) {
			t.Fatalf("there is no %s to replace", old)
		}
		return strings.Replace(anEntryEncoded, old, replacement, 1)
	}
	for raw, says := range map[string]string{
		"":                                      "unexpected end",
		"hello":                                 "invalid character",
		"null":                                  "version is 0",
		"[1]":                                   "cannot unmarshal",
		anEntryEncoded + "x":                    "invalid character",
		anEntryEncoded[:100]:                    "unexpected end",
		"\xff" + anEntryEncoded:                 "isn't UTF-8",
		without(`"version":1`, `"version":2`):   "version is 2, and this release reads version 1",
		without(`"version":1,`, ``):             "version is 0",
		without(`c1/team-a/j1`, ``):             "job_id is missing",
		without(`"name":"train"`, `"name":""`):  "namespace or name is missing",
		without(`"attempts":2`, `"attempts":0`): "attempts is 0",
		without(`"attempts":2`, `"attempts":"2"`):        "cannot unmarshal",
		without(`"cost":25`, `"cost":-1`):                "cost is -1",
		without(`"cost":25`, `"cost":1e30`):              "cannot unmarshal",
		without(`"not_before"`, `"notbefore"`):           "not_before is missing",
		without(`00.005Z`, `00.005+00:00`):               "give an RFC 3339 time in UTC with a Z",
		without(`2026-03-01T08`, `2026-02-30T08`):        "give an RFC 3339 time in UTC with a Z",
		without(`2026-03-01T`, `2026-03-01 `):            "give an RFC 3339 time in UTC with a Z",
		without(`"OOM`, `"`+strings.Repeat("a", 64<<10)): "at most 65536 are read",
		// Another version may have other types.
		`{"version":9,"attempts":"three"}`: "version is 9",
	} {
		g := NewWithT(t)
		_, err := Decode([]byte(raw))
		g.Expect(err).To(MatchError(ErrUndecodable))
		g.Expect(err).To(MatchError(ContainSubstring(says)))
		g.Expect(len(err.Error())).To(BeNumerically("<", 600))
	}

	g := NewWithT(t)
	e, err := Decode([]byte(without(`"version":1`, `"colour":"red","version":1`)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(e).To(Equal(anEntry()))
}

func TestEncodeRefusesWhatDecodeWould(t *testing.T) {
	for says, spoil := range map[string]func(*Entry){
		"version is 0":           func(e *Entry) { e.Version = 0 },
		"job_id is missing":      func(e *Entry) { e.JobID = "" },
		"namespace or name":      func(e *Entry) { e.Namespace = "" },
		"attempts is 0":          func(e *Entry) { e.Attempts = 0 },
		"cost is -1":             func(e *Entry) { e.Cost = -1 },
		"not_before is missing":  func(e *Entry) { e.NotBefore = time.Time{} },
		"year outside of range":  func(e *Entry) { e.NotBefore = time.Unix(math.MaxInt32*1000, 0) },
		"at most 65536 are read": func(e *Entry) { e.JobID = strings.Repeat("j", 64<<10) },
	} {
		g := NewWithT(t)
		e := anEntry()
		spoil(&e)
		_, err := e.Encode()
		g.Expect(err).To(MatchError(ContainSubstring(says)))
	}
}

// Texts come from workloads and can have any size.
func TestReasonsAreBounded(t *testing.T) {
	g := NewWithT(t)
	e := anEntry()
	e.Reason = strings.Repeat("é", 1<<20)
	raw, err := e.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	back, err := Decode(raw)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(back.Reason).To(Equal(strings.Repeat("é", 128)))

	g.Expect(bounded("a" + strings.Repeat("é", 200))).To(Equal("a" + strings.Repeat("é", 127)))
	g.Expect(bounded("\xff!")).To(Equal("\uFFFD!"))
	g.Expect(len(bounded(strings.Repeat("\xff\x80", 1000)))).To(BeNumerically("<=", 256))

	raw, err = DeadEntry{Version: 1, JobID: "c1/team-a/j1", Reason: strings.Repeat("x", 1<<20)}.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(raw)).To(BeNumerically("<", 600))
}

func TestDeadEntryEncoding(t *testing.T) {
	g := NewWithT(t)
	raw, err := DeadEntry{Version: 1, JobID: "c1/team-a/j1", Cluster: "c1", Namespace: "team-a", Name: "train", UID: "uid-1",
		Account: "acme", Cost: 0, Attempts: 3, Reason: "DeadlineExceeded",
		FirstFailedAt: eight.In(time.FixedZone("west", -3600)), FailedAt: eight.Add(time.Hour)}.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(raw)).To(Equal(`{"version":1,"job_id":"c1/team-a/j1","cluster":"c1","namespace":"team-a","name":"train","uid":"uid-1",` +
		`"account":"acme","cost":0,"reason":"DeadlineExceeded","attempts":3,"first_failed_at":"2026-03-01T08:00:00.005Z","failed_at":"2026-03-01T09:00:00.005Z"}`))

	_, err = DeadEntry{Version: 1}.Encode()
	g.Expect(err).To(MatchError(ContainSubstring("needs a job ID")))
	_, err = DeadEntry{Version: 2, JobID: "c1/team-a/j1"}.Encode()
	g.Expect(err).To(MatchError(ContainSubstring("version is 2")))
}
