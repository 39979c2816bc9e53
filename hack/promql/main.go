// SPDX-FileCopyrightText: 2026 The enbloc authors
// SPDX-License-Identifier: Apache-2.0

// Command promql evaluates queries over given samples with Prometheus' own engine: from standard
// input samples and queries as JSON, to standard output what each query gives.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb"
)

// Series is one series: its labels, and pairs of seconds and value.
type Series struct {
	Labels map[string]string `json:"labels"`
	Values [][2]float64      `json:"values"`
}

// Query is evaluated at every step from start to end, all in seconds.
type Query struct {
	Expr  string  `json:"expr"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Step  float64 `json:"step"`
}

func main() {
	var input struct {
		Series  []Series `json:"series"`
		Queries []Query  `json:"queries"`
	}
	must(json.NewDecoder(os.Stdin).Decode(&input))
	folder, err := os.MkdirTemp("", "promql-")
	must(err)
	defer os.RemoveAll(folder)
	logger := slog.New(slog.DiscardHandler)
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	db, err := tsdb.Open(folder, logger, nil, options, nil)
	must(err)
	defer db.Close()
	for _, series := range input.Series {
		appender := db.Appender(context.Background())
		for _, pair := range series.Values {
			_, err := appender.Append(0, labels.FromMap(series.Labels), int64(pair[0]*1000), pair[1])
			must(err)
		}
		must(appender.Commit())
	}
	engine := promql.NewEngine(promql.EngineOpts{
		Logger: logger, MaxSamples: 50_000_000, Timeout: time.Minute,
	})
	results := make([][]Series, 0, len(input.Queries))
	for _, query := range input.Queries {
		results = append(results, evaluated(engine, db, query))
	}
	must(json.NewEncoder(os.Stdout).Encode(results))
}

func evaluated(engine *promql.Engine, db *tsdb.DB, query Query) []Series {
	ctx := context.Background()
	start, end := time.UnixMilli(int64(query.Start*1000)), time.UnixMilli(int64(query.End*1000))
	step := time.Duration(query.Step * float64(time.Second))
	ranged, err := engine.NewRangeQuery(ctx, db, nil, query.Expr, start, end, step)
	must(err)
	defer ranged.Close()
	matrix, err := ranged.Exec(ctx).Matrix()
	must(err)
	found := make([]Series, 0, len(matrix))
	for _, series := range matrix {
		one := Series{Labels: series.Metric.Map(), Values: [][2]float64{}}
		for _, point := range series.Floats {
			// JSON has no word for NaN, nor for infinity.
			if point.F-point.F == 0 {
				one.Values = append(one.Values, [2]float64{float64(point.T) / 1000, point.F})
			}
		}
		found = append(found, one)
	}
	return found
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
