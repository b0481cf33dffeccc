//go:build !pgx

package main

import "github.com/lib/pq"

const driver = "postgres"

func array(values []int64) interface{} { return pq.Array(values) }
