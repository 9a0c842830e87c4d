package ledger

import (
	"context"
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// version is what the database says about itself.
func (b *books) version(t *testing.T) int {
	t.Helper()
	version, found, err := b.readSchema(t.Context())
	b.g.Expect(err).NotTo(HaveOccurred())
	b.g.Expect(found).To(BeTrue())
	return version
}

// reopened is another binary, with a schema of its own, on the same database.
func (b *books) reopened(t *testing.T, s schema) *Store {
	t.Helper()
	other, err := Open(Config{URI: mongoURI(t), Database: b.jobs.Database().Name()})
	b.g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = other.Close(context.Background()) })
	other.schema = s
	return other
}

func TestANewDatabaseGetsVersionAndIndexesAndLaterPreparationCostsNothing(t *testing.T) {
	b := newBooks(t)
	b.g.Expect(b.version(t)).To(Equal(1))
	b.g.Expect(indexes(t, b, JobsCollection)).To(ConsistOf("_id_", "cluster_1__id_1"))
	b.g.Expect(indexes(t, b, LedgerCollection)).To(ConsistOf("_id_", "job_id_1", "account_1_recorded_at_1"))
	b.forget()
	b.g.Expect(b.Prepare(t.Context())).To(Succeed())
	b.g.Expect(b.sent()).To(BeEmpty())
	// Another start finds everything in place.
	b.g.Expect(b.reopened(t, current).Prepare(t.Context())).To(Succeed())
}

func indexes(t *testing.T, b *books, collection string) []string {
	t.Helper()
	specs, err := b.jobs.Database().Collection(collection).Indexes().ListSpecifications(t.Context())
	b.g.Expect(err).NotTo(HaveOccurred())
	names := []string{}
	for _, spec := range specs {
		names = append(names, spec.Name)
	}
	return names
}

func TestANewerSchemaIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	b := openBooks(t, mongoURI(t), newBooks(t).jobs.Database().Name()+"_new")
	_, err := b.meta.InsertOne(t.Context(), bson.D{{Key: "_id", Value: "schema"}, {Key: "version", Value: 2}})
	b.g.Expect(err).NotTo(HaveOccurred())
	for name, call := range map[string]func() error{
		"prepare": func() error { return b.Prepare(t.Context()) },
		"charge":  func() error { _, _, err := b.Charge(t.Context(), aJob("x")); return err },
		"deliver": func() error { _, _, err := b.Deliver(t.Context(), aJob("x"), nine); return err },
		"rows":    func() error { return b.EnsureRows(t.Context(), aJob("x")) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := call()
			g.Expect(err).To(MatchError(ErrSchema))
			g.Expect(err).To(MatchError(ContainSubstring(
				"has schema version 2, this binary writes version 1; run the release that wrote it, or a newer one; nothing was changed")))
		})
	}
	collections, err := b.jobs.Database().ListCollectionNames(t.Context(), bson.D{})
	b.g.Expect(err).NotTo(HaveOccurred())
	b.g.Expect(slices.DeleteFunc(collections, func(n string) bool { return n == MetaCollection })).To(BeEmpty())
}

func TestAnOlderSchemaIsUpgradedStepByStepOrRefused(t *testing.T) {
	b := newBooks(t)
	var steps []int
	step := func(from int) func(context.Context, *Store) error {
		return func(context.Context, *Store) error { steps = append(steps, from); return nil }
	}
	interrupted := errors.New("interrupted")

	unknown := b.reopened(t, schema{version: 3, upgrades: map[int]func(context.Context, *Store) error{2: step(2)}})
	err := unknown.Prepare(t.Context())
	b.g.Expect(err).To(MatchError(ErrSchema))
	b.g.Expect(err).To(MatchError(ContainSubstring("has schema version 1, this binary writes version 3 and can't upgrade from there; run the releases in between, oldest first")))
	b.g.Expect(b.version(t)).To(Equal(1))

	halted := b.reopened(t, schema{version: 3, upgrades: map[int]func(context.Context, *Store) error{
		1: step(1), 2: func(context.Context, *Store) error { return interrupted },
	}})
	b.g.Expect(halted.Prepare(t.Context())).To(MatchError(interrupted))
	b.g.Expect(b.version(t)).To(Equal(2))

	resumed := b.reopened(t, schema{version: 3, upgrades: map[int]func(context.Context, *Store) error{1: step(1), 2: step(2)}})
	b.g.Expect(resumed.Prepare(t.Context())).To(Succeed())
	b.g.Expect(b.version(t)).To(Equal(3))
	b.g.Expect(steps).To(Equal([]int{1, 2}))
}

func TestManyFirstStartsAtOnce(t *testing.T) {
	b := openBooks(t, mongoURI(t), newBooks(t).jobs.Database().Name()+"_many")
	stores := make([]*Store, 8)
	for i := range stores {
		stores[i] = b.reopened(t, current)
	}
	ends := race(len(stores), func(i int) string {
		if err := stores[i].Prepare(t.Context()); err != nil {
			return err.Error()
		}
		return "prepared"
	})
	b.g.Expect(ends).To(Equal(map[string]int{"prepared": 8}))
	b.g.Expect(b.version(t)).To(Equal(1))
}
