# What the scripts in Tcl share: the environment, and how they tell what they got.
proc env {name} { return $::env(ASK_$name) }
proc dsn {more} {
    return "host=[env HOST] port=[env PORT] user=[env USER] password='[env PASSWORD]' dbname=[env DATABASE] $more"
}
proc quoted {text} {
    return "\"[string map {\\ \\\\ \" \\\" \n { }} $text]\""
}
proc listed {parts} { return "\[[join $parts ,]\]" }

# Each step is a script that gives JSON.
proc tell {steps} {
    foreach {step take} $steps {
        if {[catch {uplevel #0 $take} got]} { set told "\"failed\":[quoted $got]" } else { set told "\"got\":$got" }
        puts "{\"step\":[quoted $step],$told}"
        flush stdout
    }
}
fconfigure stdout -encoding utf-8
