//go:build pgx

package main

import _ "github.com/jackc/pgx/v4/stdlib"

const driver = "pgx"

func array(values []int64) interface{} { return values }
