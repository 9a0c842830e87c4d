package ledger

import (
	"fmt"
	"math"
	"testing"

	. "github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestBalanceIsTheSumOfTheRows(t *testing.T) {
	b := newBooks(t)
	cost := func(account, id string, cost int64) Job {
		job := aJob(id)
		job.Account, job.Cost = account, cost
		return job
	}
	b.charged(t, cost("acme", "a", 25))
	b.refunded(t, cost("acme", "b", 17))
	b.walk(t, cost("acme", "c", 3), "charge,refund0,reclaim")
	b.charged(t, cost("acme", "d", 0))
	b.charged(t, cost("globex", "e", 1<<53-1))
	for account, want := range map[string]int64{"acme": -28, "globex": -9007199254740991, "nobody": 0} {
		b.forget()
		have, err := b.Balance(t.Context(), account)
		b.g.Expect(err).NotTo(HaveOccurred())
		b.g.Expect(have).To(Equal(want), account)
		b.g.Expect(b.sent()).To(Equal([]string{"aggregate"}))
	}
}

func TestBalanceAtTheEdgesOf64Bits(t *testing.T) {
	b := newBooks(t)
	grants := 0
	grant := func(account string, amounts ...any) {
		for _, amount := range amounts {
			grants++
			_, err := b.ledger.InsertOne(t.Context(), bson.D{
				{Key: "_id", Value: fmt.Sprintf("g%d:grant", grants)}, {Key: "account", Value: account},
				{Key: "type", Value: "grant"}, {Key: "amount", Value: amount},
			})
			b.g.Expect(err).NotTo(HaveOccurred())
		}
	}
	grant("most", int64(math.MaxInt64))
	grant("least", int64(math.MinInt64+1), int64(-1))
	grant("back", int64(math.MaxInt64), int64(math.MaxInt64), int64(-math.MaxInt64))
	grant("over", int64(math.MaxInt64), int64(1))
	grant("under", int64(math.MinInt64), int64(-1))
	grant("fraction", int64(1), 0.5)
	grant("text", int64(1), "1")
	for account, want := range map[string]int64{"most": math.MaxInt64, "least": math.MinInt64, "back": math.MaxInt64} {
		have, err := b.Balance(t.Context(), account)
		b.g.Expect(err).NotTo(HaveOccurred(), account)
		b.g.Expect(have).To(Equal(want), account)
	}
	for account, want := range map[string]string{
		"over":     "sum 9223372036854775808: the sum does not fit in 64 bits",
		"under":    "sum -9223372036854775809: the sum does not fit in 64 bits",
		"fraction": "the amounts of 1 rows are not whole 64-bit numbers",
		"text":     "the amounts of 1 rows are not whole 64-bit numbers",
	} {
		_, err := b.Balance(t.Context(), account)
		b.g.Expect(err).To(MatchError(ContainSubstring(want)))
	}
	_, err := b.Balance(t.Context(), "over")
	b.g.Expect(err).To(MatchError(ErrOverflow))
	_, err = b.Balance(t.Context(), "")
	b.g.Expect(err).To(MatchError(ErrInvalid))
}

func TestWhole(t *testing.T) {
	g := NewWithT(t)
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "25": 25, "-25": -25, "2.5E+1": 25, "1E+3": 1000, "1.00": 1,
		"9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
	} {
		d, err := bson.ParseDecimal128(text)
		g.Expect(err).NotTo(HaveOccurred())
		have, err := whole(d)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(have).To(Equal(want), text)
	}
	for text, want := range map[string]string{
		"0.5": "is not whole", "9223372036854775808": "64 bits", "1E+30": "64 bits", "NaN": "64 bits", "Infinity": "64 bits",
	} {
		d, err := bson.ParseDecimal128(text)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = whole(d)
		g.Expect(err).To(MatchError(ContainSubstring(want)), text)
	}
}
