# tdbc::postgres: prepared on the server, variables as parameters.
source [file join [file dirname [info script]] told.tcl]
package require tdbc::postgres
proc session {args} {
    return [tdbc::postgres::connection new -host [env HOST] -port [env PORT] -user [env USER] -password [env PASSWORD] \
        -database [env DATABASE] {*}$args]
}
set session [session -sslmode require]

# Parameters are p1, p2 …; one that is not in `given` is NULL.
proc ask {statement {given {}}} { return [$::session allrows -as lists -- $statement $given] }
proc code {statement} {
    if {[catch {ask $statement} failed options]} { return [quoted [lindex [dict get $options -errorcode] 2]] }
    return [quoted answered]
}
proc column {rows} { return [listed [lmap row $rows {quoted [lindex $row 0]}]] }
proc pairs {rows} {
    return [listed [lmap row $rows {
        lassign $row key n
        listed [list [expr {$key eq "" ? "null" : [quoted $key]}] $n]
    }]]
}
proc one {statement {given {}}} { return [lindex [ask $statement $given] 0 0] }
proc types {} {
    set got {}
    foreach line [split [env TYPES] \n] {
        lassign [split $line \t] type statement value
        if {$type eq "bytea"} { set value [binary format H* 000102ff] }
    lappend got "[quoted $type]:[listed [list [one $statement [list p1 $value]] [one $statement]]]"
    }
    return "{[join $got ,]}"
}
proc cursor {} {
    $::session begintransaction
    $::session allrows "DECLARE steps CURSOR FOR [env GROUPED]"
    set rows [concat [ask "FETCH 2 FROM steps"] [ask "FETCH 2 FROM steps"]]
    $::session commit
    return [pairs $rows]
}
proc timeout {} {
    ask "SELECT set_config('statement_timeout', '300ms', false)"
    set stopped [code [env SLOW]]
    ask "SELECT set_config('statement_timeout', '0', false)"
    return $stopped
}
proc word {} {
    set statement [lindex [split [lindex [split [env WORDS] \n] 0] \t] 1]
    return "{\"UTF8\":[quoted [one $statement]]},\"note\":\"speaks UTF-8 alone\""
}
proc tls {} {
    set ::env(PGCHANNELBINDING) require
    set ::env(PGSSLROOTCERT) [env ROOT]
    [session -sslmode verify-full] close
    return [quoted bound]
}
tell {
    connect {lassign [lindex [ask "SELECT current_user, current_database()"] 0] who where
        listed [list [quoted $who] [quoted $where]]}
    TLS tls
    tables {listed [lmap name [lsort [dict keys [$session tables]]] {quoted $name}]}
    columns {listed [lmap name [dict keys [$session columns trips]] {quoted $name}]}
    grouped {pairs [ask [env GROUPED]]}
    lists {listed [list [one [env IN] {p1 1 p2 2}] [one [env ARRAY] {p1 "{1,2}"}]]}
    types types
    refusal {set refused [code [env ROWS]]; ask [env GROUPED]; set refused}
    cursor cursor
    timeout timeout
    encodings word
}
puts {{"step":"cancel","none":"has no call that cancels"}}
