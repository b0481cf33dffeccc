// Go's two drivers, through database/sql: lib/pq, and pgx (built with the tag pgx).
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

type told map[string]interface{}

var db *sql.DB

func env(name string) string { return os.Getenv("ASK_" + name) }

func dsn(more string) string {
	return fmt.Sprintf("host=%s port=%s user=%s password='%s' dbname=%s %s",
		env("HOST"), env("PORT"), env("USER"), env("PASSWORD"), env("DATABASE"), more)
}

// Rows as text, and nil for NULL.
func ask(statement string, values ...interface{}) ([][]*string, error) {
	rows, err := db.Query(statement, values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return read(rows)
}

func read(rows *sql.Rows) ([][]*string, error) {
	names, _ := rows.Columns()
	found := [][]*string{}
	for rows.Next() {
		row, into := make([]*string, len(names)), make([]interface{}, len(names))
		for n := range row {
			into[n] = &row[n]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		found = append(found, row)
	}
	return found, rows.Err()
}

func one(statement string, values ...interface{}) (string, error) {
	rows, err := ask(statement, values...)
	if err != nil {
		return "", err
	}
	return *rows[0][0], nil
}

func column(statement string) (interface{}, error) {
	rows, err := ask(statement)
	names := []string{}
	for _, row := range rows {
		names = append(names, *row[0])
	}
	return names, err
}

func code(err error) (interface{}, error) {
	var failed interface{ SQLState() string }
	if errors.As(err, &failed) {
		return failed.SQLState(), nil
	}
	return "answered", err
}

func value(kind, text string) interface{} {
	at, _ := time.Parse("2006-01-02", "2019-03-08")
	switch kind {
	case "boolean":
		return true
	case "smallint", "integer", "bigint":
		var number int64
		fmt.Sscan(text, &number)
		return number
	case "real", "double precision":
		return 20.5
	case "date", "timestamp", "timestamptz":
		return at
	case "bytea":
		return []byte{0, 1, 2, 255}
	case "integer[]":
		return array([]int64{1, 2})
	}
	return text
}

func types() (interface{}, error) {
	got := map[string][]string{}
	for _, line := range strings.Split(env("TYPES"), "\n") {
		part := strings.Split(line, "\t")
		for _, given := range []interface{}{value(part[0], part[2]), nil} {
			count, err := one(part[1], given)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", part[0], err)
			}
			got[part[0]] = append(got[part[0]], count)
		}
	}
	return got, nil
}

func lists() (interface{}, error) {
	in, err := one(env("IN"), 1, 2)
	if err != nil {
		return nil, err
	}
	within, err := one(env("ARRAY"), array([]int64{1, 2}))
	return []string{in, within}, err
}

func refusal() (interface{}, error) {
	_, refused := ask(env("ROWS"))
	if _, err := ask(env("GROUPED")); err != nil {
		return nil, err
	}
	return code(refused)
}

func cursor() (interface{}, error) {
	session, err := db.Begin()
	if err != nil {
		return nil, err
	}
	defer session.Commit()
	if _, err := session.Exec("DECLARE steps CURSOR FOR " + env("GROUPED")); err != nil {
		return nil, err
	}
	found := [][]*string{}
	for n := 0; n < 2; n++ {
		rows, err := session.Query("FETCH 2 FROM steps")
		if err != nil {
			return nil, err
		}
		some, err := read(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

func cancel() (interface{}, error) {
	limited, free := context.WithTimeout(context.Background(), 400*time.Millisecond)
	defer free()
	rows, err := db.QueryContext(limited, env("SLOW"))
	if err == nil {
		rows.Close()
		return "answered", nil
	}
	if _, again := ask(env("WHERE")); again != nil {
		return nil, again
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "stopped", nil
	}
	return code(err)
}

func timeout() (interface{}, error) {
	if _, err := ask("SELECT set_config('statement_timeout', '300ms', false)"); err != nil {
		return nil, err
	}
	_, slow := ask(env("SLOW"))
	ask("SELECT set_config('statement_timeout', '0', false)")
	return code(slow)
}

func main() {
	os.Setenv("ASK_WHERE", "SELECT current_user, current_database()")
	var err error
	if db, err = sql.Open(driver, dsn("sslmode=require")); err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1)
	steps := []struct {
		name string
		take func() (interface{}, error)
	}{
		{"connect", func() (interface{}, error) { rows, err := ask(env("WHERE")); return rows[0], err }},
		{"TLS", tls},
		{"tables", func() (interface{}, error) { return column(env("TABLES")) }},
		{"columns", func() (interface{}, error) { return column(env("COLUMNS")) }},
		{"grouped", func() (interface{}, error) { return ask(env("GROUPED")) }},
		{"lists", lists}, {"types", types}, {"refusal", refusal}, {"cursor", cursor}, {"cancel", cancel},
		{"timeout", timeout},
		{"encodings", func() (interface{}, error) {
			word, err := one(strings.Split(strings.Split(env("WORDS"), "\n")[0], "\t")[1])
			return map[string]string{"UTF8": word}, err
		}},
	}
	notes := map[string]string{
		"TLS": "knows no channel binding; checks certificate and name", "encodings": "speaks UTF-8 alone",
	}
	for _, step := range steps {
		got, err := step.take()
		line := told{"step": step.name, "got": got}
		if note, has := notes[step.name]; has {
			line["note"] = note
		}
		if err != nil {
			line = told{"step": step.name, "failed": err.Error()}
		}
		text, _ := json.Marshal(line)
		fmt.Println(string(text))
	}
}

func tls() (interface{}, error) {
	checked, err := sql.Open(driver, dsn("sslmode=verify-full sslrootcert="+env("ROOT")))
	if err != nil {
		return nil, err
	}
	defer checked.Close()
	return "bound", checked.Ping()
}
