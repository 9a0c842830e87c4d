package controllers

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// No account, job or free text is a label: their number has no bound.
var (
	transitions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "recoup_transitions_total",
		Help: "Transitions that this manager won in the books, by kind.",
	}, []string{"transition"})
	storeErrors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "recoup_store_errors_total",
		Help: "Passes that failed because a store didn't answer as it should, by store.",
	}, []string{"store"})
	pushedAgain = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "recoup_retry_announced_again_total",
		Help: "Retries that were due, hadn't appeared, and were announced to the lane again.",
	})
	entries = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "recoup_retry_entries_total",
		Help: "Entries that the consumer took from the retry lane, by what became of them.",
	}, []string{"result"})
	laneDepth = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "recoup_retry_lane_entries",
		Help: "Entries in each part of the retry lane.",
	}, []string{"part"})
)

func init() {
	metrics.Registry.MustRegister(transitions, storeErrors, pushedAgain, entries, laneDepth)
}
