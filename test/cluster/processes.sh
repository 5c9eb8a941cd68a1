# Processes of the cluster (sourced). $state/pid/NAME holds "PID START-TIME": a PID that was given to another process is not ours.

start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# pid_of NAME: prints the PID while that very process lives.
pid_of() {
  local pid started
  read -r pid started 2>/dev/null <"$state/pid/$1" || return 1
  [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ] && echo "$pid"
}

# forget_dead: drops the notes of processes that have ended; any_alive: whether a note is left then.
forget_dead() {
  local file
  for file in "$state"/pid/*; do
    [ ! -e "$file" ] || pid_of "${file##*/}" >/dev/null || rm -f "$file"
  done
}
any_alive() { ls "$state"/pid/* >/dev/null 2>&1; }

# Sockets, bridges and addresses are there once on a machine, wherever the state is: what belongs to a living cluster with
# another state must not be taken for leftovers.
demand_no_other_cluster() {
  local other
  other=$(cat "$run/state" 2>/dev/null || true)
  [ -n "$other" ] && [ "$other" != "$state" ] && (state=$other && forget_dead && any_alive) || return 0
  die "A cluster with its state in $other runs on this machine: stop that one first (cluster:down with its XDG_STATE_HOME)."
}

# start NAME COMMAND...: unless it runs already. Its log is $logs/NAME.log; the earlier one is kept beside it.
start() {
  local name=$1
  shift
  pid_of "$name" >/dev/null && return 0
  [ ! -s "$logs/$name.log" ] || mv "$logs/$name.log" "$logs/$name.previous.log"
  setsid nohup "$@" >"$logs/$name.log" 2>&1 </dev/null 7>&- 8>&- &
  echo "$! $(start_time $!)" >"$state/pid/$name"
}

# until_ok SECONDS WHAT COMMAND...: waits until the command succeeds.
until_ok() {
  local end=$((SECONDS + $1)) what=$2 allowed=$1 name pid
  shift 2
  until "$@" >/dev/null 2>&1; do
    for name in "$state"/pid/*; do
      name=${name##*/}
      pid_of "$name" >/dev/null || die "$name has ended before: $what. The end of its log:" "$(tail -n 15 "$logs/$name.log")" "" "All logs are in $logs"
    done
    [ "$SECONDS" -lt "$end" ] || die "not within $allowed s: $what. Logs are in $logs"
    sleep 0.1
  done
  say "$what"
}

# end NAME: asks a process to end. reap NAME SECONDS: waits for that, then kills it.
end() {
  local pid
  pid=$(pid_of "$1") && kill "$pid" || true
}
reap() {
  local pid
  for _ in $(seq $(($2 * 20))); do
    pid_of "$1" >/dev/null || break
    sleep 0.05
  done
  pid=$(pid_of "$1") && kill -9 "$pid" || true
  rm -f "$state/pid/$1"
}
