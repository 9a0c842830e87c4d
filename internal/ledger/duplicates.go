package ledger

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// onlyDuplicates tells whether all that a server found wrong with a write is
// that it was there already, and the write concern was met.
func onlyDuplicates(err error) bool {
	const duplicateKey = 11000
	var single mongo.WriteException
	var bulk mongo.BulkWriteException
	var unmet *mongo.WriteConcernError
	var codes []int
	switch {
	case errors.As(err, &single):
		unmet = single.WriteConcernError
		for _, e := range single.WriteErrors {
			codes = append(codes, e.Code)
		}
	case errors.As(err, &bulk):
		unmet = bulk.WriteConcernError
		for _, e := range bulk.WriteErrors {
			codes = append(codes, e.Code)
		}
	}
	for _, code := range codes {
		if code != duplicateKey {
			return false
		}
	}
	return len(codes) > 0 && unmet == nil
}
