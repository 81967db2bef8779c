"""Verbs: a line each, read by `lexicon`.

German infinitive, third person, past, participle | British / American | subject > objects | places | topic.
`an+rufen` parts with its prefix in main clauses, `*` takes `sein` in the perfect, `sich` is reflexive, `!` has no
progressive. English past forms that no rule gives follow colons. An object is a case (or a preposition and its case, `=`
the English one) and the kinds of nouns that it can be; `direction` stands for a place to go to. Topics are what the two
domains differ in.
"""

__all__ = ["VERBS"]

VERBS = """
kaufen kauft kaufte gekauft | buy:bought:bought | person > acc food,clothes,thing,vehicle,device,book | shop town | home
verkaufen verkauft verkaufte verkauft | sell:sold:sold | person > acc vehicle,device,food,clothes,home | shop town | work
suchen sucht suchte gesucht | look for | person > acc thing,animal,map,ticket,form,seat | town home office | home
finden findet fand gefunden | find:found:found | person > acc thing,ticket,map,animal,mail,form | town home office | home
verlieren verliert verlor verloren | lose:lost:lost | person > acc thing,ticket,map | town road | town
vergessen vergisst vergaß vergessen | forget:forgot:forgotten | person > acc thing,ticket,plan,talk | town office | home
stehlen stiehlt stahl gestohlen | steal:stole:stolen | person > acc vehicle,thing,device | town road | law
reparieren repariert reparierte repariert | repair / fix | staff > acc fitting,device,vehicle,wall | home town | work
prüfen prüft prüfte geprüft | check / examine | staff > acc form,bill,fitting,vehicle,part | office | work
wechseln wechselt wechselte gewechselt | change | person > acc part,bulb | home road | town
öffnen öffnet öffnete geöffnet | open | person > acc opening,mail | home office | home
auf+machen macht machte gemacht | open | person > acc opening,mail | home office | home
zu+machen macht machte gemacht | close | person > acc opening | home office | home
ab+schließen schließt schloss geschlossen | lock | person > acc opening,room,vehicle | home office | town
ein+schalten schaltet schaltete geschaltet | switch on / turn on | person > acc device | home office | home
aus+schalten schaltet schaltete geschaltet | switch off / turn off | person > acc device | home office | home
lesen liest las gelesen | read:read:read | person > acc text,dish | home town | home
schreiben schreibt schrieb geschrieben | write:wrote:written | person > acc mail,book,plan | home office | work
unterschreiben unterschreibt unterschrieb unterschrieben | sign | person > acc form,mail | office | law
aus+füllen füllt füllte gefüllt | fill in / fill out | person > acc form | office | work
ab+schicken schickt schickte geschickt | post / mail | person > acc mail | town office | work
drucken druckt druckte gedruckt | print | person > acc text,map | office | work
übersetzen übersetzt übersetzte übersetzt | translate | person > acc text,dish | office | work
schicken schickt schickte geschickt | send:sent:sent | person > dat person; acc mail,bill,map | office | work
geben gibt gab gegeben | give:gave:given | person > dat person; acc thing,ticket,form,mark | home office | home
zeigen zeigt zeigte gezeigt | show:showed:shown | person > dat person; acc map,sight,home,text | town | town
leihen leiht lieh geliehen | lend:lent:lent | person > dat person; acc vehicle,thing,book,tool | home | home
erzählen erzählt erzählte erzählt | tell:told:told | person > dat person; acc talk | home office | home
aus+stellen stellt stellte gestellt | write:wrote:written | doctor > dat person; acc medical | office | work
stellen stellt stellte gestellt | ask | person > dat person; acc ask | office | work
holen holt holte geholt | fetch / get:got:gotten | person > acc thing,tool,waste,drink,medical | home shop | home
brauchen braucht brauchte gebraucht ! | need | person > acc tool,medical,bulb,part,map,thing,fuel | home road | home
an+rufen ruft rief gerufen | ring:rang:rung / call | person > acc person | home office | home
ab+holen holt holte geholt | collect / pick up | person > acc person,mail,ticket,vehicle | town | town
mit+bringen bringt brachte gebracht | bring:brought:brought | person > acc food,drink,thing,book,toy | home office | home
mit+nehmen nimmt nahm genommen | take:took:taken | person > acc thing,tool,map,animal,vehicle | town | town
ein+laden lädt lud geladen | invite | person > acc person | home town | home
besuchen besucht besuchte besucht | visit | person > acc person,sight | town | town
treffen trifft traf getroffen | meet:met:met | person > acc person | town office road | town
erkennen erkennt erkannte erkannt ! | recognise / recognize | person > acc person,vehicle,building | town road | town
kritisieren kritisiert kritisierte kritisiert | criticise / criticize | person > acc staff,taste,text,show | office | law
sehen sieht sah gesehen ! | see:saw:seen | person > acc person,animal,show,building,queue | town road | town
hören hört hörte gehört ! | hear:heard:heard | person > acc talk,animal,line | home town | home
filmen filmt filmte gefilmt | film | person > acc animal,goal,building | town | town
warten wartet wartete gewartet | wait | person > auf acc = for person,line,mail,fuel | town road | town
denken denkt dachte gedacht | think:thought:thought | person > an acc = of person,trip | home office | home
sprechen spricht sprach gesprochen | talk | person > mit dat = to person; über acc = about show,trip,taste,plan | office | work
sprechen spricht sprach gesprochen | talk | person > über acc = about show,event,trip,talk,mark,plan | office home | work
lachen lacht lachte gelacht | laugh | person > über acc = at talk,person,clothes | home town | home
helfen hilft half geholfen | help | person > dat person | home road office | home
danken dankt dankte gedankt | thank | person > dat person | office | work
gehören gehört gehörte gehört ! | belong | vehicle,home,tool,animal > dat = to person | | law
folgen folgt folgte gefolgt * | follow | person,animal > dat person,vehicle | road | law
sich freuen freut freute gefreut | look forward | person > auf acc = to trip,event,person | | home
sich beschweren beschwert beschwerte beschwert | complain | person > über acc = about taste,bill,queue,waste,food | office shop | work
sich erinnern erinnert erinnerte erinnert ! | remember | person > an acc person,trip,show | | home
sich entschuldigen entschuldigt entschuldigte entschuldigt | apologise / apologize | person > bei dat = to person | office | work
sich setzen setzt setzte gesetzt | sit:sat:sat down | person > auf acc = on seat | | town
sitzen sitzt saß gesessen | sit:sat:sat | person > auf dat = on seat | out | town
liegen liegt lag gelegen | lie:lay:lain | animal > auf dat = on seat,thing,road | | home
stehen steht stand gestanden | stand:stood:stood | person > in dat = in queue | shop town | town
steigen steigt stieg gestiegen * | climb | person > auf acc = up tool,sight | | home
arbeiten arbeitet arbeitete gearbeitet | work | person > bei dat = for firm | | law
arbeiten arbeitet arbeitete gearbeitet | work | person > | office shop school | work
schlafen schläft schlief geschlafen | sleep:slept:slept | person,animal > | home out | home
spielen spielt spielte gespielt | play | person > mit dat = with toy,animal,person | out school | home
spielen spielt spielte gespielt | play | person > | out school | home
lernen lernt lernte gelernt | study | person > | school home | work
träumen träumt träumte geträumt | dream:dreamt:dreamt / dream | person > von dat = of trip,home,vehicle,food | home | home
kochen kocht kochte gekocht | cook | person > acc cooked | home | home
probieren probiert probierte probiert | try | person > acc food,drink,dish | home town | home
essen isst aß gegessen | eat:ate:eaten | person > acc food | home out town | home
trinken trinkt trank getrunken | drink:drank:drunk | person > acc drink | home town out | home
bestellen bestellt bestellte bestellt | order | person > acc food,drink,book,device | town | town
bezahlen bezahlt bezahlte bezahlt | pay:paid:paid | person > acc bill | shop town | town
teilen teilt teilte geteilt | share | person > acc food,home,trip | home | home
an+probieren probiert probierte probiert | try on | person > acc clothes | shop | town
an+ziehen zieht zog gezogen | put:put:put on | person > acc clothes | home | home
aus+ziehen zieht zog gezogen | take:took:taken off | person > acc clothes | home | home
waschen wäscht wusch gewaschen | wash | person > acc clothes,vehicle,animal | home out | home
putzen putzt putzte geputzt | clean | person > acc room,fitting,device,vehicle | home | home
auf+räumen räumt räumte geräumt | tidy up / clean up | person > acc room | home | home
leeren leert leerte geleert | empty | person > acc bin | home town | home
weg+werfen wirft warf geworfen | throw:threw:thrown away | person > acc waste,clothes,text,food,bulb | town home | home
streichen streicht strich gestrichen | paint | person > acc wall,room,fitting,seat | home | home
bauen baut baute gebaut | build:built:built | firm,person > acc building,road,wall | town | law
ab+reißen reißt riss gerissen | pull down / tear:tore:torn down | firm > acc building,wall | town | law
eröffnen eröffnet eröffnete eröffnet | open | firm,staff > acc shop,building,event | town | law
besichtigen besichtigt besichtigte besichtigt | look round / tour | person > acc sight | town | town
fotografieren fotografiert fotografierte fotografiert | photograph | person > acc sight,animal,person | town out | town
bewundern bewundert bewunderte bewundert | admire | person > acc sight,clothes,show | town | town
überholen überholt überholte überholt | overtake:overtook:overtaken / pass | person > acc vehicle,ride | road | town
parken parkt parkte geparkt | park | person > acc vehicle | road town | town
mieten mietet mietete gemietet | hire / rent | person > acc vehicle,home | town | town
verpassen verpasst verpasste verpasst | miss | person > acc line,show,event | town | town
füttern füttert fütterte gefüttert | feed:fed:fed | person > acc animal | out home | home
streicheln streichelt streichelte gestreichelt | stroke / pet:petted:petted | person > acc animal | out home | home
rufen ruft rief gerufen | call | person > acc animal,staff | home road | home
organisieren organisiert organisierte organisiert | organise / organize | person,firm > acc event,trip,show | office town | work
analysieren analysiert analysierte analysiert | analyse / analyze | staff,firm > acc text,taste | office | work
verteidigen verteidigt verteidigte verteidigt | defend | staff > acc person,taste,plan | court | law
verklagen verklagt verklagte verklagt | sue | person,firm > acc firm,person | court | law
gewinnen gewinnt gewann gewonnen | win:won:won | person > acc thing,trip,vehicle | town | law
ab+sagen sagt sagte gesagt | call off / cancel:canceled:canceled | staff,firm > acc event | office | work
verschieben verschiebt verschob verschoben | postpone / put:put:put off | staff,firm > acc event,trip | office | work
vor+bereiten bereitet bereitete bereitet | prepare | person > acc event,trip,form | office home | work
planen plant plante geplant | plan:planned:planned | person,firm > acc event,trip,building | office | law
kündigen kündigt kündigte gekündigt | terminate / cancel:canceled:canceled | person,firm > acc deal | office | law
schießen schießt schoss geschossen | score | person > acc goal | out school | town
bekommen bekommt bekam bekommen | get:got:got / get:got:gotten | person > acc mark,mail,bill,medical | school office | work
verbreiten verbreitet verbreitete verbreitet | spread:spread:spread | person > acc rumour | office town | law
an+halten hält hielt gehalten | stop:stopped:stopped | staff > acc vehicle,ride | road town | law
beobachten beobachtet beobachtete beobachtet | watch | person > acc animal,person,line | out road | law
gehen geht ging gegangen * | go:went:gone | person > direction | | town
fahren fährt fuhr gefahren * | drive:drove:driven | person > direction | | town
reisen reist reiste gereist * | travel:travelled:travelled / travel:traveled:traveled | person > direction city | | town
um+ziehen zieht zog gezogen * | move | person > direction city | | home
zurück+kommen kommt kam gekommen * | come:came:come back | person > direction from | | town
auf+stehen steht stand gestanden * | get:got:got up / get:got:gotten up | person > | | home
ein+schlafen schläft schlief geschlafen * | fall:fell:fallen asleep | person,animal > | home seats | home
auf+wachen wacht wachte gewacht * | wake:woke:woken up | person,animal > | home | home
aus+steigen steigt stieg gestiegen * | get:got:got off / get:got:gotten off | person > | town road | town
an+kommen kommt kam gekommen * | arrive | person,line > | town | town
ab+fahren fährt fuhr gefahren * | leave:left:left / depart | ride > | | town
ein+kaufen kauft kaufte gekauft | shop:shopped:shopped | person > | town shop | town
weg+laufen läuft lief gelaufen * | run:ran:run away | animal,person > | home road | home
"""
