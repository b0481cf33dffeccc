# Pgtcl: sets the client's encoding to UNICODE, and has no NULL of its own.
source [file join [file dirname [info script]] told.tcl]
package require Pgtcl
set session [pg_connect -conninfo [dsn "sslmode=require"]]

# Rows as lists; raises with the SQLSTATE in errorCode.
proc ask {statement args} {
    set result [pg_exec $::session $statement {*}$args]
    set failed [pg_result $result -error]
    set code [pg_result $result -error sqlstate]
    set rows {}
    if {$failed eq ""} { set rows [pg_result $result -llist] }
    pg_result $result -clear
    if {$failed ne ""} { return -code error -errorcode $code $failed }
    return $rows
}
proc code {statement} {
    if {[catch {ask $statement} failed options]} { return [quoted [dict get $options -errorcode]] }
    return [quoted answered]
}
proc column {statement} { return [listed [lmap row [ask $statement] {quoted [lindex $row 0]}]] }
proc pairs {rows} {
    return [listed [lmap row $rows {
        lassign $row key n
        listed [list [expr {$key eq "" ? "null" : [quoted $key]}] $n]
    }]]
}
proc one {statement args} { return [lindex [ask $statement {*}$args] 0 0] }
proc types {} {
    set got {}
    foreach line [split [env TYPES] \n] {
        lassign [split $line \t] type statement value
        # NULL is written into the statement.
        set none [string map [list {$1} NULL] $statement]
        lappend got "[quoted $type]:[listed [list [one $statement $value] [one $none]]]"
    }
    return "{[join $got ,]},\"note\":\"has no NULL for a parameter\""
}
proc cursor {} {
    ask BEGIN
    ask "DECLARE steps CURSOR FOR [env GROUPED]"
    set rows [concat [ask "FETCH 2 FROM steps"] [ask "FETCH 2 FROM steps"]]
    ask COMMIT
    return [pairs $rows]
}
proc cancel {} {
    pg_sendquery $::session [env SLOW]
    after 400
    pg_cancelrequest $::session
    set result [pg_getresult $::session]
    set code [pg_result $result -error sqlstate]
    pg_result $result -clear
    while {[pg_getresult $::session] ne ""} {}
    return [quoted $code]
}
proc timeout {} {
    ask "SET statement_timeout = '300ms'"
    set stopped [code [env SLOW]]
    ask "RESET statement_timeout"
    return $stopped
}
proc word {} {
    set statement [lindex [split [lindex [split [env WORDS] \n] 0] \t] 1]
    return "{\"UTF8\":[quoted [one $statement]]},\"note\":\"speaks UNICODE alone, which is UTF8\""
}
proc tls {} {
    pg_disconnect [pg_connect -conninfo [dsn "sslmode=verify-full sslrootcert=[env ROOT] channel_binding=require"]]
    return [quoted bound]
}
tell {
    connect {lassign [lindex [ask "SELECT current_user, current_database()"] 0] who where
        listed [list [quoted $who] [quoted $where]]}
    TLS tls
    tables {column [env TABLES]}
    columns {column [env COLUMNS]}
    grouped {pairs [ask [env GROUPED]]}
    lists {listed [list [one [env IN] 1 2] [one [env ARRAY] "{1,2}"]]}
    types types
    refusal {set refused [code [env ROWS]]; ask [env GROUPED]; set refused}
    cursor cursor
    cancel cancel
    timeout timeout
    encodings word
}
