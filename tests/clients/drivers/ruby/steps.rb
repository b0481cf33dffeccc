# Ruby's pg: parameters as text, its own asynchronous cancel.
require "json"
require "pg"

def env(name) = ENV.fetch("ASK_#{name}")

def connect(more)
  PG.connect(host: env("HOST"), port: env("PORT"), user: env("USER"), password: env("PASSWORD"),
             dbname: env("DATABASE"), **more)
end

SESSION = connect(sslmode: "require")

def ask(statement, *values) = SESSION.exec_params(statement, values).values
def column(statement) = ask(statement).map(&:first)

def code
  yield
  "answered"
rescue PG::Error => e
  e.result.error_field(PG::Result::PG_DIAG_SQLSTATE)
end

def types
  env("TYPES").lines(chomp: true).to_h do |line|
    type, statement, text = line.split("\t")
    value = type == "bytea" ? { value: "\x00\x01\x02\xff".b, format: 1 } : text
    [type, [ask(statement, value)[0][0], ask(statement, nil)[0][0]]]
  end
end

def cursor
  SESSION.transaction do
    SESSION.exec("DECLARE steps CURSOR FOR #{env("GROUPED")}")
    Array.new(2) { ask("FETCH 2 FROM steps") }.flatten(1)
  end
end

def cancel
  done = false
  beside = Thread.new do
    sleep 0.3
    until done
      SESSION.cancel
      sleep 0.3
    end
  end
  code { SESSION.exec(env("SLOW")) }
ensure
  done = true
  beside.join
end

def timeout
  SESSION.exec("SET statement_timeout = '300ms'")
  stopped = code { ask(env("SLOW")) }
  SESSION.exec("RESET statement_timeout")
  stopped
end

def encodings
  env("WORDS").lines(chomp: true).to_h do |line|
    name, statement = line.split("\t")
    SESSION.set_client_encoding(name)
    own = name == "UNICODE" ? "UTF-8" : PG::Connection.conndefaults && SESSION.exec("SELECT 1").getvalue(0, 0).encoding
    [name, ask(statement.encode(own))[0][0].encode("UTF-8")]
  end
end

def tls
  connect(sslmode: "verify-full", sslrootcert: env("ROOT"), channel_binding: "require").exec(env("GROUPED"))
  "bound"
end

{
  "connect" => -> { ask("SELECT current_user, current_database()")[0] },
  "TLS" => -> { tls },
  "tables" => -> { column(env("TABLES")) },
  "columns" => -> { column(env("COLUMNS")) },
  "grouped" => -> { ask(env("GROUPED")) },
  "lists" => -> { [ask(env("IN"), 1, 2)[0][0], ask(env("ARRAY"), PG::TextEncoder::Array.new.encode([1, 2]))[0][0]] },
  "types" => -> { types },
  "refusal" => -> { code { ask(env("ROWS")) }.tap { ask(env("GROUPED")) } },
  "cursor" => -> { cursor },
  "cancel" => -> { cancel },
  "timeout" => -> { timeout },
  "encodings" => -> { encodings },
}.each do |step, take|
  told = begin
    { got: take.call }
  rescue StandardError => e
    { failed: e.full_message(highlight: false) }
  end
  puts JSON.generate({ step: step, **told })
  $stdout.flush
end
