# Waits until aime is gone, in whatever way, and then ends what its commands left running.
#
# $1: the text that the mark of every one of them holds. Standard input: a pipe that only aime holds the other end of, so that its end is
# aime's end; each line of it is a folder that is to be removed then. POSIX sh; needs grep, chmod, rm and /proc.

trap '' HUP INT QUIT TERM TSTP

folders=''
while IFS= read -r folder; do
    folders="$folders$folder
"
done

# Who is killed may have started another just before, and who is just starting a program shows no environment: thrice nobody must be found.
# What a hundred rounds do not end cannot be ended.
rounds=0
nobody=0
while [ "$nobody" -lt 3 ] && [ "$rounds" -lt 100 ]; do
    rounds=$((rounds + 1))
    family=' '
    for file in $(grep -lsF -e "$1" /proc/[0-9]*/environ); do
        file=${file#/proc/}
        family="$family${file%/environ} "
    done
    if [ "$family" = ' ' ]; then
        nobody=$((nobody + 1))
        continue
    fi
    nobody=0
    # Their children belong to them too, also those with an environment of their own.
    grown=yes
    while [ "$grown" ]; do
        grown=
        for file in /proc/[0-9]*/stat; do
            read -r line <"$file" || continue
            pid=${file#/proc/}
            pid=${pid%/stat}
            parent=${line##*) ? }
            parent=${parent%% *}
            case $family in
            *" $pid "*) ;;
            *" $parent "*)
                family="$family$pid "
                grown=yes
                ;;
            esac
        done
    done
    # Numbers that are split into words on purpose. Between the look and the kill no id comes round again: the kernel gives out all others first.
    kill -9 $family
done

# Folders that a command has closed to its own user are opened first. Links in them are not followed.
printf '%s' "$folders" | while IFS= read -r folder; do
    [ -d "$folder" ] && [ ! -L "$folder" ] || continue
    rm -rf -- "$folder" 2>/dev/null || { chmod -R u+rwX -- "$folder"; rm -rf -- "$folder"; }
done
