package ledger

import (
	"context"
	"fmt"
	"math/big"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Balance returns the sum of an account's rows, in credits. An account without
// rows has 0. ErrOverflow if the sum doesn't fit; a row whose amount is no whole
// 64-bit number is an error as well, never left out.
func (s *Store) Balance(ctx context.Context, account string) (int64, error) {
	if account == "" {
		return 0, fmt.Errorf("balance: %w", invalid("no account named"))
	}
	ctx, cancel := s.call(ctx)
	defer cancel()
	what := fmt.Sprintf("balance of account %q", account)
	cursor, err := s.ledger.Aggregate(ctx, balancePipeline(account))
	var sums []struct {
		Sum bson.Decimal128 `bson:"sum"`
		Odd int64           `bson:"odd"`
	}
	if err == nil {
		err = cursor.All(ctx, &sums)
	}
	switch {
	case err != nil:
		return 0, s.failed(ctx, what, err)
	case len(sums) == 0:
		return 0, nil
	case sums[0].Odd > 0:
		return 0, fmt.Errorf("%s in %s: the amounts of %d rows are not whole 64-bit numbers", what, s.where, sums[0].Odd)
	}
	sum, err := whole(sums[0].Sum)
	if err != nil {
		return 0, fmt.Errorf("%s in %s: %w", what, s.where, err)
	}
	return sum, nil
}

// balancePipeline sums in decimal, which holds 34 digits: 64-bit sums turn into
// inexact floating-point numbers when they overflow, without an error.
func balancePipeline(account string) mongo.Pipeline {
	isLong := bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$type", Value: "$amount"}}, "long"}}}
	either := func(then, otherwise any) bson.D {
		return bson.D{{Key: "$sum", Value: bson.D{{Key: "$cond", Value: bson.A{isLong, then, otherwise}}}}}
	}
	return mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: "account", Value: account}}}},
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: nil},
			{Key: "sum", Value: either(bson.D{{Key: "$toDecimal", Value: "$amount"}}, bson.Decimal128{})},
			{Key: "odd", Value: either(int64(0), int64(1))},
		}}},
	}
}

// whole is the 64-bit number that a decimal is.
func whole(d bson.Decimal128) (int64, error) {
	mantissa, exponent, err := d.BigInt()
	if err != nil {
		return 0, fmt.Errorf("sum %s: %w", d, ErrOverflow)
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil)
	if exponent >= 0 {
		mantissa.Mul(mantissa, scale)
	} else {
		var fraction big.Int
		if mantissa.QuoRem(mantissa, scale, &fraction); fraction.Sign() != 0 {
			return 0, fmt.Errorf("sum %s is not whole", d)
		}
	}
	if !mantissa.IsInt64() {
		return 0, fmt.Errorf("sum %s: %w", d, ErrOverflow)
	}
	return mantissa.Int64(), nil
}
