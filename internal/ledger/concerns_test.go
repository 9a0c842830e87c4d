package ledger

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
)

// Whatever the connection string asks for, a write is acknowledged by a
// majority, in the journal, and a read that decides sees what was.
func TestConcernsAreTheBooksOwn(t *testing.T) {
	g := NewWithT(t)
	uri := mongoURI(t)
	switch {
	case strings.Contains(uri, "?"):
		uri += "&"
	case strings.Count(uri, "/") > 2:
		uri += "?"
	default:
		uri += "/?"
	}
	uri += "w=1&journal=false&readPreference=secondaryPreferred&readConcernLevel=local"

	type concerns struct {
		Write struct {
			W string `bson:"w"`
			J bool   `bson:"j"`
		} `bson:"writeConcern"`
		Read struct {
			Level string `bson:"level"`
		} `bson:"readConcern"`
		Preference struct {
			Mode string `bson:"mode"`
		} `bson:"$readPreference"`
	}
	b := newBooks(t)
	var seen []string
	store, err := Open(Config{URI: uri, Database: b.jobs.Database().Name(), MonitorCommand: &event.CommandMonitor{
		Started: func(_ context.Context, e *event.CommandStartedEvent) {
			var c concerns
			if err := bson.Unmarshal(e.Command, &c); err != nil {
				t.Errorf("command %s: %v", e.CommandName, err)
			}
			g.Expect(c.Preference.Mode).NotTo(HavePrefix("secondary"))
			switch e.CommandName {
			case "insert", "update":
				g.Expect(c.Write.W).To(Equal("majority"), e.CommandName)
				g.Expect(c.Write.J).To(BeTrue(), e.CommandName)
			case "endSessions":
				return
			default:
				g.Expect(c.Read.Level).To(Equal("majority"), e.CommandName)
			}
			seen = append(seen, e.CommandName)
		},
	}})
	g.Expect(err).NotTo(HaveOccurred())
	store.prepared.Store(true)
	job, _, err := store.Charge(t.Context(), aJob("concerns"))
	g.Expect(err).NotTo(HaveOccurred())
	_, _, err = store.Deliver(t.Context(), job, twentyPast)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = store.Get(t.Context(), job.ID)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = store.Rows(t.Context(), job.ID)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = store.Balance(t.Context(), "acme")
	g.Expect(err).NotTo(HaveOccurred())
	for _, err := range store.DeadLettered(t.Context(), "c1") {
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(seen).To(Equal([]string{"insert", "update", "update", "update", "find", "find", "aggregate", "find"}))
	g.Expect(store.Close(t.Context())).To(Succeed())
}
